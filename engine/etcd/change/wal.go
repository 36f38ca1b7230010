package change

import (
	"encoding/binary"
	"strconv"
)

// readWAL returns the IDs of the member that wrote a WAL file and of its cluster, from the beginning of the file, or "" if
// they cannot be read. Each file begins with two records: a checksum, and the IDs of the member and its cluster (etcd,
// server/storage/wal). A record is a little-endian length, a message of Protocol Buffers with a type (1) and data (3),
// and padding, whose size is in the highest byte of the length.
func readWAL(begin []byte) (member, cluster string) {
	const metadata = 1
	for len(begin) > 8 {
		length := binary.LittleEndian.Uint64(begin)
		size, padding := length&^(uint64(0xff)<<56), uint64(0)
		if length>>63 == 1 {
			padding = length >> 56 & 7
		}
		begin = begin[8:]
		if size+padding > uint64(len(begin)) {
			return "", ""
		}
		record := readFields(begin[:size])
		if record.numbers[1] == metadata {
			ids := readFields(record.texts[3]).numbers
			if ids[1] == 0 || ids[2] == 0 {
				return "", ""
			}
			return strconv.FormatUint(ids[1], 16), strconv.FormatUint(ids[2], 16)
		}
		begin = begin[size+padding:]
	}
	return "", ""
}

type fields struct {
	numbers map[uint64]uint64 // by number of the field
	texts   map[uint64][]byte
}

// readFields reads numbers and texts, and ends at any other field.
func readFields(message []byte) fields {
	f := fields{map[uint64]uint64{}, map[uint64][]byte{}}
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 {
			return f
		}
		value, m := binary.Uvarint(message[n:])
		if m <= 0 {
			return f
		}
		message = message[n+m:]
		switch kind := tag & 7; {
		case kind == 0:
			f.numbers[tag>>3] = value
		case kind == 2 && value <= uint64(len(message)):
			f.texts[tag>>3], message = message[:value], message[value:]
		default:
			return f
		}
	}
	return f
}

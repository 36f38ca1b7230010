package archive

import (
	"encoding/binary"
	"errors"
)

var errVariant = errors.New("not a valid GVariant")

func offsetSize(n int) int {
	switch {
	case n <= 0xff:
		return 1
	case n <= 0xffff:
		return 2
	default:
		return 4 // larger containers exceed maxMetadata
	}
}

// readOffset counts framing offset i from the end of the container. An offset beyond limit is an error.
func readOffset(data []byte, i, limit int) (int, error) {
	size := offsetSize(len(data))
	at := len(data) - (i+1)*size
	if at < 0 {
		return 0, errVariant
	}
	var word [8]byte
	copy(word[:], data[at:at+size])
	offset := binary.LittleEndian.Uint64(word[:])
	if offset > uint64(limit) {
		return 0, errVariant
	}
	return int(offset), nil
}

// splitTuple returns the members of a tuple of count variable-size members without alignment.
func splitTuple(data []byte, count int) ([][]byte, error) {
	limit := len(data) - (count-1)*offsetSize(len(data))
	if limit < 0 {
		return nil, errVariant
	}
	var members [][]byte
	start := 0
	for i := range count {
		end := limit
		if i < count-1 {
			var err error
			if end, err = readOffset(data, i, limit); err != nil {
				return nil, err
			}
		}
		if end < start {
			return nil, errVariant
		}
		members = append(members, data[start:end])
		start = end
	}
	return members, nil
}

// splitArray returns the elements of an array of variable-size elements. Each begins at a multiple of alignment.
func splitArray(data []byte, alignment int) ([][]byte, error) {
	if len(data) == 0 {
		return nil, nil
	}
	table, err := readOffset(data, 0, len(data)) // end of the last element
	if err != nil {
		return nil, err
	}
	size := offsetSize(len(data))
	if (len(data)-table)%size != 0 {
		return nil, errVariant
	}
	count := (len(data) - table) / size
	elements := make([][]byte, 0, count)
	start := 0
	for i := range count {
		start = alignOffset(start, alignment)
		end, err := readOffset(data, count-1-i, table)
		if err != nil || end < start {
			return nil, errVariant
		}
		elements = append(elements, data[start:end])
		start = end
	}
	return elements, nil
}

func alignOffset(offset, alignment int) int { return (offset + alignment - 1) / alignment * alignment }

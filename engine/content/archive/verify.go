package archive

import (
	"bufio"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

const maxHeader = 1 << 20

// verifyFile returns errDamaged if a file object does not have its checksum.
//
// A file in an archive begins with the length of a header as 32 bits, four bytes of padding, and the header:
// (tuuuusa(ayay)), which are the uncompressed size, owner, group, mode, device, target and extended attributes. The contents follow,
// compressed. Its checksum is of the same without the size, uncompressed.
func (r *Repository) verifyFile(o Object) error {
	f, _, err := r.OpenFile(o.Path())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	in := bufio.NewReaderSize(f, 64<<10)
	header, isLink, err := readFileHeader(in)
	if err != nil {
		return fmt.Errorf("%w (%w)", errDamaged, err)
	}
	sum := sha256.New()
	var prefix [8]byte
	binary.BigEndian.PutUint32(prefix[:], uint32(len(header)))
	_, _ = sum.Write(prefix[:]) // a hash has no errors
	_, _ = sum.Write(header)
	if !isLink {
		if _, err := io.Copy(sum, flate.NewReader(in)); err != nil {
			return fmt.Errorf("%w (%w)", errDamaged, err)
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != o.Checksum {
		return errDamaged
	}
	return nil
}

// readFileHeader returns the header as its checksum covers it, and whether the file is a symbolic link.
func readFileHeader(in io.Reader) (header []byte, isLink bool, err error) {
	var prefix [8]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return nil, false, err
	}
	n := binary.BigEndian.Uint32(prefix[:4])
	const fixed = 24 // the size, and four numbers
	if n < fixed || n > maxHeader {
		return nil, false, errors.New("the length of its header is wrong")
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(in, data); err != nil {
		return nil, false, err
	}
	limit := len(data) - offsetSize(len(data))
	target, err := readOffset(data, 0, limit)
	if err != nil || target <= fixed {
		return nil, false, errVariant
	}
	const sizeField = 8
	body := data[sizeField:limit]
	size := 1
	for offsetSize(len(body)+size) != size {
		size *= 2
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], uint64(target-sizeField))
	return append(bytes.Clone(body), word[:size]...), target > fixed+1, nil
}

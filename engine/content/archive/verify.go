package archive

import (
	"bufio"
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
)

const maxHeader = 1 << 20

// FindDamaged reads the files of a commit that are not in the commit have, and returns the first one that does not have
// its checksum, or nothing.
func (r *Repository) FindDamaged(ctx context.Context, commit, have string) ([]Object, error) {
	known := map[Object]int64{}
	if isChecksum(have) {
		var err error
		if known, err = r.walkObjects(ctx, have, func(Object, error) error { return nil }); err != nil {
			return nil, err
		}
	}
	var damaged []Object
	_, err := r.walkObjects(ctx, commit, func(o Object, err error) error {
		if _, there := known[o]; err == nil && o.Kind == File && !there && len(damaged) == 0 {
			err = r.verifyFile(ctx, o)
		}
		if errors.Is(err, errDamaged) {
			damaged, err = append(damaged, o), nil
		}
		return err
	})
	return damaged, err
}

// verifyFile returns errDamaged if a file object does not have its checksum.
//
// In an archive, a file object begins with the length of a header (32 bits), four bytes of padding, and the header
// (tuuuusa(ayay)): uncompressed size, owner, group, mode, device, target and extended attributes. The compressed
// contents follow. The checksum covers the header without the size, and the uncompressed contents.
func (r *Repository) verifyFile(ctx context.Context, o Object) error {
	f, _, err := r.OpenFile(o.Path())
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	in := bufio.NewReaderSize(f, 64<<10)
	header, err := readFileHeader(in)
	if err != nil {
		return fmt.Errorf("%w (%w)", errDamaged, err)
	}
	sum := sha256.New()
	var prefix [8]byte
	binary.BigEndian.PutUint32(prefix[:], uint32(len(header.covered)))
	_, _ = sum.Write(prefix[:]) // writing to a hash cannot fail
	_, _ = sum.Write(header.covered)
	if !header.isLink {
		if _, err := unpackContents(ctx, sum, in, header.size); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return fmt.Errorf("%w (%w)", errDamaged, err)
		}
	}
	if hex.EncodeToString(sum.Sum(nil)) != o.Checksum {
		return errDamaged
	}
	return nil
}

// unpackContents fails if the contents have another size. It writes at most size+1 bytes.
func unpackContents(ctx context.Context, out io.Writer, in io.Reader, size int64) (int64, error) {
	var written int64
	contents := flate.NewReader(in)
	for ctx.Err() == nil {
		n, err := io.CopyN(out, contents, min(unpackStep, size+1-written))
		written += n
		switch {
		case errors.Is(err, io.EOF) && written == size:
			return written, nil
		case err != nil:
			return written, err
		case written > size:
			return written, errors.New("its contents are longer than it says")
		}
	}
	return written, ctx.Err()
}

// unpackStep is the number of bytes that are unpacked between two checks of the
// context.
const unpackStep = 16 << 20

// fileHeader is the beginning of a file object.
type fileHeader struct {
	covered []byte // the part that the checksum covers
	isLink  bool   // a symbolic link, which has no contents
	size    int64  // of the contents, uncompressed
}

func readFileHeader(in io.Reader) (fileHeader, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(in, prefix[:]); err != nil {
		return fileHeader{}, err
	}
	n := binary.BigEndian.Uint32(prefix[:4])
	const fixed = 24 // the size, and four numbers
	if n < fixed || n > maxHeader {
		return fileHeader{}, errors.New("the length of its header is wrong")
	}
	data := make([]byte, n)
	if _, err := io.ReadFull(in, data); err != nil {
		return fileHeader{}, err
	}
	limit := len(data) - offsetSize(len(data))
	target, err := readOffset(data, 0, limit)
	if err != nil || target <= fixed {
		return fileHeader{}, errVariant
	}
	const sizeField = 8
	body := data[sizeField:limit]
	size := 1
	for offsetSize(len(body)+size) != size {
		size *= 2
	}
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], uint64(target-sizeField))
	contents := binary.BigEndian.Uint64(data[:sizeField])
	if contents > math.MaxInt64-1 {
		return fileHeader{}, errors.New("its size is wrong")
	}
	return fileHeader{covered: append(bytes.Clone(body), word[:size]...), isLink: target > fixed+1, size: int64(contents)}, nil
}

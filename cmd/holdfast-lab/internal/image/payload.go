package image

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Payload lists the sizes of the files that a version adds, in bytes. Their
// contents are incompressible.
type Payload []int64

const (
	equalSize = 5 << 20
	largeSize = 50 << 20
	// smallSizes is the number of sizes of small files, which are multiples of 4
	// KiB.
	smallSizes = 31
)

// EqualFiles returns a payload of files of 5 MiB.
func EqualFiles(bytes int64) Payload {
	return Payload{}.appendFiles(bytes, func(int) int64 { return equalSize })
}

// MixedFiles returns a payload like an OS update: half of the bytes in files of
// 50 MiB, the other half in many files of 4 to 124 KiB.
func MixedFiles(bytes int64) Payload {
	large := Payload{}.appendFiles(bytes/2/largeSize*largeSize, func(int) int64 { return largeSize })
	return large.appendFiles(bytes-large.totalSize(), func(i int) int64 { return int64(i*7%smallSizes+1) << 12 })
}

func (p Payload) appendFiles(bytes int64, size func(i int) int64) Payload {
	for i := 0; bytes > 0; i++ {
		n := min(bytes, size(i))
		p = append(p, n)
		bytes -= n
	}
	return p
}

func (p Payload) totalSize() (sum int64) {
	for _, n := range p {
		sum += n
	}
	return sum
}

func (p Payload) writeFiles(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i, n := range p {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("blob.%d", i)))
		if err != nil {
			return err
		}
		_, err = io.CopyN(f, rand.Reader, n)
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

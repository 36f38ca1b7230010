package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// hashTrailer checks a snapshot during the write. The last 32 bytes of a snapshot are the SHA-256 of all bytes before.
type hashTrailer struct {
	body hash.Hash // of all but the last 32 bytes
	all  hash.Hash
	tail []byte // the last 32 bytes so far
}

func newHashTrailer() *hashTrailer { return &hashTrailer{body: sha256.New(), all: sha256.New()} }

// Write never returns an error.
func (t *hashTrailer) Write(p []byte) (int, error) {
	t.all.Write(p)
	t.tail = append(t.tail, p...)
	if n := len(t.tail) - sha256.Size; n > 0 {
		t.body.Write(t.tail[:n])
		t.tail = append(t.tail[:0], t.tail[n:]...)
	}
	return len(p), nil
}

func (t *hashTrailer) checkTrailer(size int64) error {
	if size <= sha256.Size || size%pageSize != sha256.Size {
		return fmt.Errorf("check the snapshot: %d bytes is not the size of a database and its hash: it is cut off", size)
	}
	if !bytes.Equal(t.body.Sum(nil), t.tail) {
		return errors.New("check the snapshot: its hash does not match: it is damaged")
	}
	return nil
}

// Check reads a snapshot to its end and compares the hash at its end. It returns the size and the SHA-256 of the file.
func Check(file io.Reader) (size int64, sum string, err error) {
	check := newHashTrailer()
	size, err = io.Copy(check, io.LimitReader(file, MaxSize+1))
	switch {
	case err != nil:
	case size > MaxSize:
		err = fmt.Errorf("check the snapshot: it is longer than %d bytes, the most that an etcd database should have", int64(MaxSize))
	default:
		err = check.checkTrailer(size)
	}
	return size, check.sha256Hex(), err
}

func (t *hashTrailer) sha256Hex() string { return hex.EncodeToString(t.all.Sum(nil)) }

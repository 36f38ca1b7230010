package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// pageSize is a divisor of the size of every etcd database. etcdutl checks that
// before a restore.
const pageSize = 512

// MaxSize bounds a snapshot, in bytes: twice the largest database that etcd recommends.
const MaxSize = 16 << 30

// Save writes a snapshot stream of at most limit bytes to a file beside path, syncs and checks the file, and renames it
// to path. A file at path is an error. Save returns the size and SHA-256 of the file.
func Save(path string, stream io.Reader, limit int64) (size int64, sum string, err error) {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return 0, "", errors.Join(err, existsError(path))
	}
	part := path + partEnd
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, "", err
	}
	file, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(part))
		}
	}()
	check := newHashTrailer()
	size, err = io.Copy(io.MultiWriter(file, check), io.LimitReader(stream, limit+1))
	if err == nil && size > limit {
		err = fmt.Errorf("check the snapshot: it is longer than %d bytes, the most that an etcd database should have", limit)
	}
	if err == nil {
		err = check.checkTrailer(size)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return 0, "", err
	}
	if err = linkFile(part, path); err != nil {
		return 0, "", err
	}
	return size, check.sha256Hex(), syncDir(filepath.Dir(path))
}

func existsError(path string) error {
	return fmt.Errorf("%s already exists; name another file", path)
}

func linkFile(part, path string) error {
	err := os.Link(part, path)
	switch {
	case errors.Is(err, fs.ErrExist):
		return existsError(path)
	case err != nil: // the file system has no hard links
		reserved, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(reserved.Close(), os.Rename(part, path))
	}
	return os.Remove(part)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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

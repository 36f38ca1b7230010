package snapshot

import (
	"errors"
	"fmt"
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

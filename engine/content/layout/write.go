package layout

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Create makes a layout without images in a folder, unless the folder has one. It refuses a folder with other files.
func Create(folder string) error {
	if folder == "" {
		return errors.New("the inventory names no image layout; add layout to the mirror block of the site")
	}
	if _, err := os.Stat(filepath.Join(folder, MarkerFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if others, err := os.ReadDir(folder); err == nil && len(others) > 0 {
		return fmt.Errorf("%s has files, but no %s: it is not an image layout; name another folder", folder, MarkerFile)
	}
	if err := os.MkdirAll(filepath.Join(folder, "blobs/sha256"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, MarkerFile), fmt.Appendf(nil, "{\"imageLayoutVersion\":%q}\n", version), 0o644)
}

// SetTag lists a manifest under a name in index.json. It replaces an earlier
// manifest with that name.
func (l *Layout) SetTag(tag string, b Blob) error {
	index, err := l.readIndex()
	if errors.Is(err, fs.ErrNotExist) {
		index, err = v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}, nil
	}
	if err != nil {
		return err
	}
	entry := v1.Descriptor{MediaType: b.MediaType, Size: b.Size, Digest: b.Digest, Annotations: map[string]string{refName: tag}}
	index.Manifests = append(slices.DeleteFunc(index.Manifests, func(d v1.Descriptor) bool { return d.Annotations[refName] == tag }), entry)
	data, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return err
	}
	return l.replaceFile(indexFile, indexFile+".incomplete", func(file io.Writer) error {
		_, err := file.Write(append(data, '\n'))
		return err
	})
}

// WriteBlob writes a blob. The blob gets its name after all its data is on disk and has its digest. WriteBlob reads at
// most one byte more than the size of the blob.
func (l *Layout) WriteBlob(ctx context.Context, b Blob, in io.Reader) error {
	path, err := blobPath(b.Digest)
	if err != nil {
		return err
	}
	return l.replaceFile(path, "blobs/sha256/incomplete", func(file io.Writer) error {
		digest, size, err := v1.SHA256(io.TeeReader(io.LimitReader(contextReader{ctx, in}, b.Size+1), file))
		if err == nil && (size != b.Size || digest != b.Digest) {
			err = fmt.Errorf("the source has other contents for it: %d bytes with the digest %s", size, digest)
		}
		return err
	})
}

// replaceFile writes a file under a temporary name, and then renames it. After a loss of power, the file has its old or
// its new contents; once replaceFile has returned without an error, it has the new ones.
func (l *Layout) replaceFile(path, part string, write func(io.Writer) error) error {
	if err := l.removeFile(part); err != nil { // left by an earlier run that was killed
		return err
	}
	file, err := l.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = l.root.Rename(part, path)
	}
	if err != nil {
		return errors.Join(err, l.removeFile(part))
	}
	return l.syncFolder(filepath.Dir(path))
}

func (l *Layout) syncFolder(path string) error {
	folder, err := l.root.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (l *Layout) removeFile(path string) error {
	if err := l.root.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveBlob removes a blob by its path in the layout, for example a damaged one. It ignores a missing blob, because
// two images may share a blob.
func (l *Layout) RemoveBlob(path string) error { return l.removeFile(path) }

// Lock prevents others from writing to the layout until unlock is called or the program ends.
func (l *Layout) Lock() (unlock func(), err error) {
	marker, err := l.root.Open(MarkerFile)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(marker.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = marker.Close() // read only
		return nil, fmt.Errorf("another holdfast mirror fills this layout (%w); wait for its end", err)
	}
	return func() { _ = marker.Close() }, nil
}

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

// markerPart is the temporary name of the marker.
const markerPart = MarkerFile + ".incomplete"

// Create makes a layout without images in a folder, unless the folder has one. It refuses a folder with other files. It
// finishes a layout that was not finished before a kill or a loss of power.
func Create(folder string) error {
	if folder == "" {
		return errors.New("the inventory names no image layout; add layout to the mirror block of the site")
	}
	if hasMarker, err := statMarker(folder); hasMarker || err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	l := &Layout{root: root}
	defer func() { _ = l.Close() }() // each file was synced when it was written
	unlock, err := l.lockPath(".")
	if err != nil {
		return err
	}
	defer unlock()
	if hasMarker, err := statMarker(folder); hasMarker || err != nil { // another process may have made it before the lock
		return err
	}
	if err := checkUnfinished(folder); err != nil {
		return err
	}
	if err := root.MkdirAll("blobs/sha256", 0o755); err != nil {
		return err
	}
	if err := l.syncFolder("blobs"); err != nil {
		return err
	}
	return l.replaceFile(MarkerFile, markerPart, func(file io.Writer) error {
		_, err := fmt.Fprintf(file, "{\"imageLayoutVersion\":%q}\n", version)
		return err
	})
}

// statMarker reports whether the folder has a marker. An empty one does not count.
func statMarker(folder string) (bool, error) {
	marker, err := os.Stat(filepath.Join(folder, MarkerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && marker.Size() > 0, err
}

// checkUnfinished refuses a folder with anything but the parts of an unfinished layout.
func checkUnfinished(folder string) error {
	for path, parts := range map[string][]string{".": {MarkerFile, markerPart, "blobs"}, "blobs": {"sha256"}, "blobs/sha256": nil} {
		entries, err := os.ReadDir(filepath.Join(folder, path))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, e := range entries {
			if !slices.Contains(parts, e.Name()) {
				return fmt.Errorf("%s has files, but no %s, or an empty one: it is not an image layout; name another folder", folder, MarkerFile)
			}
		}
	}
	return nil
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
func (l *Layout) Lock() (unlock func(), err error) { return l.lockPath(MarkerFile) }

func (l *Layout) lockPath(path string) (unlock func(), err error) {
	file, err := l.root.Open(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close() // read only
		return nil, fmt.Errorf("another holdfast mirror fills this layout (%w); wait for its end", err)
	}
	return func() { _ = file.Close() }, nil
}

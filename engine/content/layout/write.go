package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Create makes a layout without images in a folder, unless there is one. It refuses a folder with other files.
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

// SetTag lists a manifest under a name in index.json, in place of an earlier one.
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
	const part = indexFile + ".incomplete"
	if err := l.root.WriteFile(part, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return l.root.Rename(part, indexFile)
}

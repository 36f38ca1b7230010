package layout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"holdfast/engine/content/regular"
)

// Layout is a folder with an OCI image layout.
type Layout struct {
	root *os.Root
	most int // blobs of an image
}

// MarkerFile is the file that marks a folder as a layout.
const MarkerFile = "oci-layout"

// MaxManifest bounds a manifest in bytes, as registries do.
const MaxManifest = 4 << 20

// ErrLongManifest is the error of a manifest of more than MaxManifest bytes.
var ErrLongManifest = fmt.Errorf("the manifest has more than %d MiB", MaxManifest>>20)

const (
	maxBlobs  = 20_000  // of an image; an image of an OS has about 100
	maxIndex  = 4 << 20 // bytes of index.json
	indexFile = "index.json"
	version   = "1.0.0" // of the format; the only version since 2017
)

// Open opens the layout in a folder.
func Open(folder string) (*Layout, error) {
	root, err := regular.OpenFolder(folder)
	if err != nil {
		return nil, fmt.Errorf("open the image layout: %w", err)
	}
	l := &Layout{root: root, most: maxBlobs}
	if err := l.checkVersion(); err != nil {
		_ = root.Close() // read only
		return nil, fmt.Errorf("open the image layout %s: %w", folder, err)
	}
	return l, nil
}

// Close closes the layout.
func (l *Layout) Close() error { return l.root.Close() }

func (l *Layout) checkVersion() error {
	data, err := regular.ReadFile(l.root, MarkerFile, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s, so it is not an image layout (%w)", MarkerFile, err)
	}
	if err != nil {
		return err
	}
	var marker struct{ ImageLayoutVersion string }
	if err := json.Unmarshal(data, &marker); err != nil {
		return fmt.Errorf("%s: %w", MarkerFile, err)
	}
	if marker.ImageLayoutVersion != version {
		return fmt.Errorf("%s has version %q; only %s is known", MarkerFile, marker.ImageLayoutVersion, version)
	}
	return nil
}

// blobPath returns the path of a blob in the layout. It accepts only sha256, the digest in the names of images.
func blobPath(h v1.Hash) (string, error) {
	if h.Algorithm != "sha256" {
		return "", fmt.Errorf("digest %s: only sha256 is supported", h)
	}
	if _, err := v1.NewHash(h.String()); err != nil { // the digest cannot contain a path
		return "", err
	}
	return Blob{Digest: h}.Path(), nil
}

// OpenBlob opens a blob. It follows no link out of the folder, and does not wait for a pipe.
func (l *Layout) OpenBlob(h v1.Hash) (*os.File, fs.FileInfo, error) {
	path, err := blobPath(h)
	if err != nil {
		return nil, nil, err
	}
	return regular.Open(l.root, path)
}

// ReadManifest returns the data of a manifest. The caller compares them with the digest.
func (l *Layout) ReadManifest(h v1.Hash) ([]byte, error) {
	path, err := blobPath(h)
	if err != nil {
		return nil, err
	}
	return regular.ReadFile(l.root, path, MaxManifest)
}

// refName is the annotation of index.json that contains the name of an image.
const refName = "org.opencontainers.image.ref.name"

// FindTag returns the digest of the image that index.json lists under a name.
func (l *Layout) FindTag(tag string) (h v1.Hash, found bool, err error) {
	index, err := l.readIndex()
	if errors.Is(err, fs.ErrNotExist) { // a new layout has no index.json
		return v1.Hash{}, false, nil
	}
	if err != nil {
		return v1.Hash{}, false, err
	}
	for _, d := range index.Manifests {
		if d.Annotations[refName] == tag {
			h, found = d.Digest, true
		}
	}
	return h, found, nil
}

func (l *Layout) readIndex() (v1.IndexManifest, error) {
	data, err := regular.ReadFile(l.root, indexFile, maxIndex)
	if err != nil {
		return v1.IndexManifest{}, err
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(data, &index); err != nil {
		return v1.IndexManifest{}, fmt.Errorf("%s: %w", indexFile, err)
	}
	return index, nil
}

// SignatureTag returns the tag under which registries keep the sigstore signatures of an image.
func SignatureTag(h v1.Hash) string { return h.Algorithm + "-" + h.Hex + ".sig" }

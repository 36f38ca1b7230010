package layout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Blob is one file of an image.
type Blob struct {
	Digest     v1.Hash
	Size       int64           // in bytes
	MediaType  types.MediaType // for the Content-Type of a manifest
	IsManifest bool            // a manifest of an image, an index or signatures
}

// Path returns the path of the blob in the layout.
func (b Blob) Path() string { return "blobs/" + b.Digest.Algorithm + "/" + b.Digest.Hex }

// Image lists the blobs of an image and of its sigstore signatures, if it has any. It cannot list the blobs that a
// missing manifest names. An index contains the images of all its platforms.
type Image struct {
	Digest    v1.Hash
	Blobs     map[v1.Hash]Blob
	Missing   []Blob
	Damaged   []Blob
	Signature v1.Hash // manifest of the signatures; the zero value if there are none
}

// IsComplete reports whether all blobs exist and are undamaged.
func (i Image) IsComplete() bool { return len(i.Missing)+len(i.Damaged) == 0 }

// Size returns the bytes of all blobs.
func (i Image) Size() int64 {
	var sum int64
	for _, b := range i.Blobs {
		sum += b.Size
	}
	return sum
}

// Incomplete is the error for an image that lacks blobs.
type Incomplete struct {
	Digest  string
	Missing int // number of blobs that are known to be missing; a missing manifest may name more
}

// Error returns the image and the number of missing blobs.
func (e Incomplete) Error() string {
	return fmt.Sprintf("image %s lacks %d of its blobs", e.Digest, e.Missing)
}

// ReadImage lists the blobs of an image. It always reads manifests and compares them with their digests. It reads other
// blobs only with verify; without verify, it compares their sizes.
func (l *Layout) ReadImage(ctx context.Context, digest v1.Hash, verify bool) (Image, error) {
	w := walker{layout: l, image: Image{Digest: digest, Blobs: map[v1.Hash]Blob{}}, verify: verify}
	w.queue = []Blob{{Digest: digest, Size: unknownSize, IsManifest: true}}
	signature, found, err := l.FindTag(SignatureTag(digest))
	if err != nil {
		return Image{}, err
	}
	if found {
		w.image.Signature = signature
		w.queue = append(w.queue, Blob{Digest: signature, Size: unknownSize, IsManifest: true})
	}
	for len(w.queue) > 0 {
		if err := ctx.Err(); err != nil {
			return Image{}, err
		}
		b := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.visitBlob(ctx, b); err != nil {
			return Image{}, fmt.Errorf("read %s: %w", b.Path(), err)
		}
	}
	return w.image, nil
}

// unknownSize is the size of a blob without a descriptor.
const unknownSize = -1

// walker visits the blobs of an image.
type walker struct {
	layout *Layout
	image  Image
	verify bool
	queue  []Blob
}

func (w *walker) visitBlob(ctx context.Context, b Blob) error {
	if known, ok := w.image.Blobs[b.Digest]; ok && (known.IsManifest || !b.IsManifest) {
		return nil
	}
	if len(w.image.Blobs) >= w.layout.most {
		return fmt.Errorf("the image has more than %d blobs", w.layout.most)
	}
	var next []Blob
	var err error
	if b.IsManifest {
		b, next, err = w.layout.readManifest(b)
	} else {
		err = w.layout.checkBlob(ctx, b, w.verify)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.image.Missing = append(w.image.Missing, b)
	case errors.Is(err, errDamaged):
		w.image.Damaged = append(w.image.Damaged, b)
	case err != nil:
		return err
	}
	b.Size = max(b.Size, 0)
	w.image.Blobs[b.Digest] = b
	w.queue = append(w.queue, next...)
	return nil
}

var errDamaged = errors.New("its contents do not have its digest")

// checkBlob compares the size with the descriptor and, with verify, the contents with the digest.
func (l *Layout) checkBlob(ctx context.Context, b Blob, verify bool) error {
	f, info, err := l.OpenBlob(b.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // read only
	if info.Size() != b.Size {
		return fmt.Errorf("%w (%d bytes, not %d)", errDamaged, info.Size(), b.Size)
	}
	if !verify {
		return nil
	}
	sum, _, err := v1.SHA256(contextReader{ctx, f})
	if err == nil && sum != b.Digest {
		err = errDamaged
	}
	return err
}

// contextReader stops reading when its context ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

// Read reads unless the context has ended.
func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}

func (l *Layout) readManifest(b Blob) (Blob, []Blob, error) {
	data, err := l.ReadManifest(b.Digest)
	if err != nil {
		return b, nil, err
	}
	if sum, _, err := v1.SHA256(bytes.NewReader(data)); err != nil || sum != b.Digest || b.Size != unknownSize && b.Size != int64(len(data)) {
		return b, nil, errDamaged
	}
	b.Size = int64(len(data))
	media, next, err := ParseManifest(data)
	b.MediaType = media
	return b, next, err
}

// ParseManifest returns the media type of a manifest, and the blobs that it names.
func ParseManifest(data []byte) (types.MediaType, []Blob, error) {
	if len(data) > MaxManifest {
		return "", nil, ErrLongManifest
	}
	var m struct {
		MediaType types.MediaType `json:"mediaType"`
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
		Manifests []v1.Descriptor `json:"manifests"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return "", nil, fmt.Errorf("it is not a manifest: %w", err)
	}
	switch {
	case m.MediaType.IsIndex(), m.MediaType == "" && m.Manifests != nil:
		if m.MediaType == "" {
			m.MediaType = types.OCIImageIndex
		}
		list, err := toBlobs(m.Manifests)
		for i := range list {
			list[i].IsManifest = true
		}
		return m.MediaType, list, err
	case m.Config != nil && (m.MediaType == "" || m.MediaType == types.OCIManifestSchema1 || m.MediaType == types.DockerManifestSchema2):
		if m.MediaType == "" {
			m.MediaType = types.OCIManifestSchema1
		}
		list, err := toBlobs(append([]v1.Descriptor{*m.Config}, m.Layers...))
		return m.MediaType, list, err
	}
	return "", nil, fmt.Errorf("it is not the manifest of an image or an index, but %q", m.MediaType)
}

func toBlobs(list []v1.Descriptor) ([]Blob, error) {
	blobs := make([]Blob, 0, len(list))
	for _, d := range list {
		if d.Size < 0 {
			return nil, fmt.Errorf("blob %s has a size of %d bytes", d.Digest, d.Size)
		}
		if _, err := blobPath(d.Digest); err != nil {
			return nil, err
		}
		blobs = append(blobs, Blob{Digest: d.Digest, Size: d.Size, MediaType: d.MediaType})
	}
	return blobs, nil
}

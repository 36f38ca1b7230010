package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"holdfast/engine"
	"holdfast/engine/content/layout"
)

// imageDigest relies on the inventory, which has checked the form of the digest.
func (w Wanted) imageDigest() v1.Hash {
	_, digest, _ := strings.Cut(w.Image, "@")
	h, _ := v1.NewHash(digest) // the zero value is the digest of no image
	return h
}

// filling is an update of a layout.
type filling struct {
	from   imageSource
	wanted []Wanted
	out    io.Writer
	layout *layout.Layout
}

// updateImages fetches the missing parts of the images. It removes damaged blobs, so that they are fetched again.
func updateImages(ctx context.Context, m engine.Mirror, f filling) ([]ContentStatus, error) {
	if err := layout.Create(m.Layout); err != nil {
		return nil, err
	}
	var err error
	if f.layout, err = layout.Open(m.Layout); err != nil {
		return nil, err
	}
	defer func() { _ = f.layout.Close() }() // each file was synced when it was written
	unlock, err := f.layout.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := f.fetchImages(ctx); err != nil {
		return nil, err
	}
	all, err := Check(ctx, m, f.wanted)
	if err != nil {
		return nil, err
	}
	if removed, err := f.removeDamaged(all); err != nil || !removed {
		return all, err
	}
	if err := f.fetchImages(ctx); err != nil {
		return nil, err
	}
	return Check(ctx, m, f.wanted)
}

func (f *filling) removeDamaged(all []ContentStatus) (removed bool, err error) {
	for _, s := range all {
		for _, path := range s.Damaged {
			removed = true
			if err := f.layout.RemoveBlob(path); err != nil {
				return removed, fmt.Errorf("repair the image layout: %w", err)
			}
		}
	}
	return removed, nil
}

func (f *filling) fetchImages(ctx context.Context) error {
	for _, w := range f.wanted {
		if err := f.fetchImage(ctx, w); err != nil {
			return fmt.Errorf("fetch image %s: %w", w.Image, err)
		}
	}
	return nil
}

func (f *filling) fetchImage(ctx context.Context, w Wanted) error {
	if err := f.fetchSignatures(ctx, w); err != nil {
		return fmt.Errorf("signatures: %w", err)
	}
	return f.fetchParts(ctx, w, w.imageDigest(), w.Image)
}

// fetchParts fetches level by level: each manifest names further parts. The image gets its tag at the end.
func (f *filling) fetchParts(ctx context.Context, w Wanted, digest v1.Hash, tag string) error {
	for {
		image, err := f.layout.ReadImage(ctx, digest, false)
		if err != nil {
			return err
		}
		if image.IsComplete() {
			return f.layout.SetTag(tag, image.Blobs[digest])
		}
		for _, b := range append(image.Missing, image.Damaged...) {
			if err := f.fetchBlob(ctx, w, b); err != nil {
				return fmt.Errorf("blob %s: %w", b.Digest, err)
			}
		}
	}
}

// maxSignatures bounds the signatures of an image in bytes. A signature has a
// few thousand.
const maxSignatures = 16 << 20

func (f *filling) fetchSignatures(ctx context.Context, w Wanted) error {
	tag := layout.SignatureTag(w.imageDigest())
	data, err := f.from.readManifest(ctx, w, tag)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	media, blobs, err := layout.ParseManifest(data)
	if err != nil {
		return err
	}
	digest, size, err := v1.SHA256(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if err := checkSignatures(media, size, blobs); err != nil {
		return err
	}
	if err := f.layout.WriteBlob(ctx, layout.Blob{Digest: digest, Size: size}, bytes.NewReader(data)); err != nil {
		return err
	}
	return f.fetchParts(ctx, w, digest, tag)
}

// checkSignatures refuses signatures that are too large. No digest in the inventory pins them, so a registry can send
// anything.
func checkSignatures(media types.MediaType, size int64, blobs []layout.Blob) error {
	if media.IsIndex() {
		return errors.New("they are an index; only a list of sigstore signatures is supported")
	}
	for _, b := range blobs {
		if size += min(b.Size, maxSignatures); size > maxSignatures {
			return fmt.Errorf("they have more than %d MiB; ask who runs the registry", maxSignatures>>20)
		}
	}
	return nil
}

func (f *filling) fetchBlob(ctx context.Context, w Wanted, b layout.Blob) error {
	if b.IsManifest {
		data, err := f.from.readManifest(ctx, w, b.Digest.String())
		if err != nil {
			return err
		}
		if b.Size < 0 {
			b.Size = int64(len(data))
		}
		return f.layout.WriteBlob(ctx, b, bytes.NewReader(data))
	}
	fmt.Fprintf(f.out, "fetch %s, %d bytes\n", b.Digest, b.Size)
	in, err := f.from.openBlob(ctx, w, b.Digest)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // all data was read and compared
	return f.layout.WriteBlob(ctx, b, in)
}

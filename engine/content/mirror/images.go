package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"holdfast/engine"
	"holdfast/engine/content/layout"
)

// digest returns the digest of an image. The inventory has checked its form.
func (w Wanted) digest() v1.Hash {
	_, digest, _ := strings.Cut(w.Image, "@")
	h, _ := v1.NewHash(digest) // the zero value is of no image
	return h
}

// filling is an update of a layout.
type filling struct {
	from   imageSource
	wanted []Wanted
	out    io.Writer
	folder *os.Root
	layout *layout.Layout
}

// updateImages fetches those parts of the images that are not there. A blob that the check finds damaged is fetched again.
func updateImages(ctx context.Context, m engine.Mirror, f filling) ([]ContentStatus, error) {
	if err := layout.Create(m.Layout); err != nil {
		return nil, err
	}
	var err error
	if f.folder, err = os.OpenRoot(m.Layout); err != nil {
		return nil, err
	}
	defer func() { _ = f.folder.Close() }() // it holds no data
	unlock, err := f.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	if f.layout, err = layout.Open(m.Layout); err != nil {
		return nil, err
	}
	defer func() { _ = f.layout.Close() }() // read only
	for again := true; ; again = false {
		for _, w := range f.wanted {
			if err := f.fetchImage(ctx, w); err != nil {
				return nil, fmt.Errorf("fetch image %s: %w", w.Image, err)
			}
		}
		all, err := Check(ctx, m, f.wanted)
		if err != nil {
			return nil, err
		}
		if !again {
			return all, nil
		}
		damaged := false
		for _, s := range all {
			for _, path := range s.Damaged {
				damaged = true
				if err := f.folder.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // two images may share it
					return nil, fmt.Errorf("repair the image layout: %w", err)
				}
			}
		}
		if !damaged {
			return all, nil
		}
	}
}

// lock keeps other updates of the layout away.
func (f *filling) lock() (unlock func(), err error) {
	marker, err := f.folder.Open(layout.MarkerFile)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(marker.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = marker.Close() // read only
		return nil, fmt.Errorf("another holdfast mirror fills this layout (%w); wait for its end", err)
	}
	return func() { _ = marker.Close() }, nil
}

// fetchImage fetches the missing parts of an image and of its signatures.
func (f *filling) fetchImage(ctx context.Context, w Wanted) error {
	if err := f.fetchSignatures(ctx, w); err != nil {
		return fmt.Errorf("signatures: %w", err)
	}
	return f.fetchParts(ctx, w, w.digest(), w.Image)
}

// fetchParts fetches the missing parts of an image, level by level: a manifest that has arrived names others. The image gets its
// tag once all of it is there.
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

// maxSignatures bounds the signatures of an image in bytes. One has a few thousand.
const maxSignatures = 16 << 20

// fetchSignatures fetches the sigstore signatures, if there are any.
func (f *filling) fetchSignatures(ctx context.Context, w Wanted) error {
	tag := layout.SignatureTag(w.digest())
	data, err := f.from.manifest(ctx, w, tag)
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
	if err := f.write(ctx, layout.Blob{Digest: digest, Size: size}, io.NopCloser(bytes.NewReader(data))); err != nil {
		return err
	}
	return f.fetchParts(ctx, w, digest, tag)
}

// checkSignatures refuses signatures that are too large: no digest in the inventory pins them, so they may be anything.
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
		data, err := f.from.manifest(ctx, w, b.Digest.String())
		if err != nil {
			return err
		}
		if b.Size < 0 {
			b.Size = int64(len(data))
		}
		return f.write(ctx, b, io.NopCloser(bytes.NewReader(data)))
	}
	fmt.Fprintf(f.out, "fetch %s, %d bytes\n", b.Digest, b.Size)
	in, err := f.from.blob(ctx, w, b.Digest)
	if err != nil {
		return err
	}
	return f.write(ctx, b, in)
}

// write writes a blob, which gets its name once all of it is on the disk and has its digest.
func (f *filling) write(ctx context.Context, b layout.Blob, in io.ReadCloser) error {
	defer func() { _ = in.Close() }() // all of it was read, and compared
	const part = "blobs/sha256/incomplete"
	file, err := f.folder.Create(part)
	if err != nil {
		return err
	}
	digest, size, err := v1.SHA256(io.TeeReader(io.LimitReader(layout.WithContext(ctx, in), b.Size+1), file))
	if err == nil && (size != b.Size || digest != b.Digest) {
		err = fmt.Errorf("the source has other contents for it: %d bytes with the digest %s", size, digest)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return f.folder.Rename(part, b.Path())
}

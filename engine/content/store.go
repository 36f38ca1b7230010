package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"holdfast/engine"
	"holdfast/engine/content/archive"
	"holdfast/engine/content/layout"
)

// storeKind is a kind of content.
type storeKind int

const (
	commits storeKind = iota // an ostree repository
	images                   // an OCI image layout
)

// store is the part of the mirror with one kind of content.
type store interface {
	// measureContent returns the number of bytes that a host fetches. It fails if the content is not complete.
	measureContent(context.Context, engine.Content) (int64, error)
	// verifyContent reads the contents that a host fetches. It fails if some are damaged.
	verifyContent(context.Context, engine.Content) error
	// newHandler returns the handler for the requests of one host.
	newHandler(context.Context, engine.Content, *progress) (http.Handler, error)
	Close() error
}

func (s *Server) openStore(c engine.Content) (store, error) {
	kind := commits
	if c.Image != "" {
		kind = images
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if opened := s.stores[kind]; opened != nil {
		return opened, nil
	}
	var opened store
	switch {
	case kind == commits && s.mirror.Repository == "":
		return nil, errors.New("the inventory names no repository; add repository to the mirror block of the site")
	case kind == images && s.mirror.Layout == "":
		return nil, errors.New("the inventory names no image layout; add layout to the mirror block of the site")
	case kind == commits:
		r, err := archive.Open(s.mirror.Repository)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; holdfast mirror --from URL makes it", err)
		} else if err != nil {
			return nil, err
		}
		opened = repositoryStore{r, s.mirror.Repository}
	case kind == images:
		l, err := layout.Open(s.mirror.Layout)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; holdfast mirror --from docker:// makes it", err)
		} else if err != nil {
			return nil, err
		}
		opened = layoutStore{l, s.mirror.Layout}
	}
	s.stores[kind] = opened
	return opened, nil
}

// repositoryStore serves commits.
type repositoryStore struct {
	*archive.Repository
	folder string
}

func (s repositoryStore) measureContent(ctx context.Context, c engine.Content) (int64, error) {
	size, err := s.Size(ctx, c.Commit, c.Have)
	if lacks := (archive.Incomplete{}); errors.As(err, &lacks) {
		return 0, fmt.Errorf("%w in the mirror %s; fetch them with holdfast mirror --from URL", lacks, s.folder)
	}
	return size, err
}

func (s repositoryStore) newHandler(_ context.Context, _ engine.Content, p *progress) (http.Handler, error) {
	return &repositoryHandler{repository: s.Repository, sent: p.sent, deltaFound: func(name string) { p.setTotal(s.DeltaSize(name)) }}, nil
}

// layoutStore serves images.
type layoutStore struct {
	*layout.Layout
	folder string
}

// measureContent returns the size of the blobs that the host does not already have from its present image.
func (s layoutStore) measureContent(ctx context.Context, c engine.Content) (int64, error) {
	image, err := s.readComplete(ctx, c)
	if err != nil {
		return 0, err
	}
	size := image.Size()
	had, err := v1.NewHash(c.Have)
	if err != nil {
		return size, nil // the host has a commit, or its image is unknown
	}
	old, err := s.ReadImage(ctx, had, false)
	if err != nil {
		return size, nil // without the old image, the size is an estimate
	}
	for digest, b := range old.Blobs {
		if _, shared := image.Blobs[digest]; shared {
			size -= b.Size
		}
	}
	return size, nil
}

func (s layoutStore) newHandler(ctx context.Context, c engine.Content, p *progress) (http.Handler, error) {
	image, err := s.readComplete(ctx, c)
	if err != nil {
		return nil, err
	}
	return &registryHandler{layout: s.Layout, image: image, sent: p.sent}, nil
}

func (s layoutStore) readImage(ctx context.Context, c engine.Content, verify bool) (layout.Image, error) {
	digest, err := v1.NewHash(c.Image)
	if err != nil {
		return layout.Image{}, err
	}
	return s.ReadImage(ctx, digest, verify)
}

func (s layoutStore) readComplete(ctx context.Context, c engine.Content) (layout.Image, error) {
	image, err := s.readImage(ctx, c, false)
	if err == nil && !image.IsComplete() {
		err = fmt.Errorf("%w in the mirror %s; fetch them with holdfast mirror --from docker://", layout.Incomplete{Digest: c.Image, Missing: len(image.Missing) + len(image.Damaged)}, s.folder)
	}
	return image, err
}

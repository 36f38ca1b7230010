package mirror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"holdfast/engine/content/layout"
)

// imageSource is a place with images. For a part that is missing there, its errors are fs.ErrNotExist.
type imageSource interface {
	// readManifest returns the manifest with a digest or a tag.
	readManifest(ctx context.Context, w Wanted, reference string) ([]byte, error)
	openBlob(ctx context.Context, w Wanted, digest v1.Hash) (io.ReadCloser, error)
	close() error
}

// registryScheme begins a value of --from that names a registry.
const registryScheme = "docker://"

// openImages returns nil if --from names a repository of commits.
func openImages(from string) (imageSource, error) {
	if repository, ok := strings.CutPrefix(from, registryScheme); ok {
		if repository != "" {
			if _, err := name.NewRepository(repository); err != nil {
				return nil, fmt.Errorf("--from %s: %w", from, err)
			}
		}
		return registrySource{repository, remote.DefaultTransport}, nil
	}
	if _, err := os.Stat(filepath.Join(from, layout.MarkerFile)); err != nil {
		return nil, nil // a URL, or the folder of a repository
	}
	opened, err := layout.Open(from)
	if err != nil {
		return nil, err
	}
	return layoutSource{opened}, nil
}

// layoutSource is another layout, for example on a removable disk.
type layoutSource struct{ *layout.Layout }

func (s layoutSource) readManifest(_ context.Context, _ Wanted, reference string) ([]byte, error) {
	digest, err := v1.NewHash(reference)
	if err != nil {
		var found bool
		if digest, found, err = s.FindTag(reference); err == nil && !found {
			err = fs.ErrNotExist
		}
		if err != nil {
			return nil, err
		}
	}
	return s.ReadManifest(digest)
}

func (s layoutSource) openBlob(_ context.Context, _ Wanted, digest v1.Hash) (io.ReadCloser, error) {
	f, _, err := s.OpenBlob(digest)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (s layoutSource) close() error { return s.Close() }

// registrySource is a registry. It uses the credentials of podman and docker.
type registrySource struct {
	repository string // "": the repository in the name of the image
	transport  http.RoundTripper
}

func (s registrySource) findRepository(w Wanted) (name.Repository, error) {
	repository := s.repository
	if repository == "" {
		repository, _, _ = strings.Cut(w.Image, "@")
	}
	return name.NewRepository(repository)
}

func (s registrySource) readManifest(ctx context.Context, w Wanted, reference string) ([]byte, error) {
	repository, err := s.findRepository(w)
	if err != nil {
		return nil, err
	}
	var ref name.Reference = repository.Tag(reference)
	if _, err := v1.NewHash(reference); err == nil {
		ref = repository.Digest(reference)
	}
	found, err := remote.Get(ref, registryOptions(ctx, boundedManifests{s.transport})...)
	if err != nil {
		return nil, markMissing(err)
	}
	return found.Manifest, nil
}

func (s registrySource) openBlob(ctx context.Context, w Wanted, digest v1.Hash) (io.ReadCloser, error) {
	repository, err := s.findRepository(w)
	if err != nil {
		return nil, err
	}
	blob, err := remote.Layer(repository.Digest(digest.String()), registryOptions(ctx, s.transport)...)
	if err != nil {
		return nil, err
	}
	in, err := blob.Compressed()
	return in, markMissing(err)
}

func (registrySource) close() error { return nil }

func registryOptions(ctx context.Context, next http.RoundTripper) []remote.Option {
	return []remote.Option{
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithUserAgent("holdfast"),
		remote.WithTransport(encryptedTransport{next}),
	}
}

// encryptedTransport sends requests without TLS only to this machine. For a registry with a private address, the library
// tries http, too, and would send the password to anybody on the path who breaks TLS.
type encryptedTransport struct{ next http.RoundTripper }

// RoundTrip refuses requests that others could read.
func (t encryptedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if host := r.URL.Hostname(); r.URL.Scheme != "https" && host != "localhost" && !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("%s://%s is refused, because others could read the password of the registry on the way; serve the registry by https, with a certificate that this machine trusts", r.URL.Scheme, r.URL.Host)
	}
	return t.next.RoundTrip(r)
}

func markMissing(err error) error {
	if refused := (*transport.Error)(nil); errors.As(err, &refused) && refused.StatusCode == http.StatusNotFound {
		return fmt.Errorf("%w (%w)", fs.ErrNotExist, err)
	}
	return err
}

// boundedManifests is a transport for manifests. The library reads manifests of 100 MiB.
type boundedManifests struct{ next http.RoundTripper }

// RoundTrip returns an answer whose body fails beyond the size of a manifest.
func (b boundedManifests) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.next.RoundTrip(r)
	if err == nil {
		answer.Body = &manifestBody{ReadCloser: answer.Body, left: layout.MaxManifest}
	}
	return answer, err
}

type manifestBody struct {
	io.ReadCloser
	left int
}

// Read reads one byte beyond the limit, to find out whether there is one.
func (b *manifestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if n > b.left {
		return 0, fmt.Errorf("%w; ask who runs the registry", layout.ErrLongManifest)
	}
	b.left -= n
	return n, err
}

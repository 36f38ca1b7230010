package mirror

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"holdfast/engine"
	"holdfast/engine/content/layout"
)

// TestSignaturesAreBounded checks that a registry cannot fill the disk of the bastion with signatures, nor damage the
// image in the mirror. No digest in the inventory pins signatures.
func TestSignaturesAreBounded(t *testing.T) {
	up := startRegistry(t)
	m, wanted := engine.Mirror{Layout: filepath.Join(t.TempDir(), "images")}, []Wanted{{Image: up.image}}
	if _, err := Update(t.Context(), m, Upstream{"docker://", wanted}, io.Discard); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(up.image, "@")
	digest, err := v1.NewHash(text)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(up.host + "/acme/os:" + layout.SignatureTag(digest))
	if err != nil {
		t.Fatal(err)
	}
	huge, err := random.Image(maxSignatures, 1)
	if err != nil {
		t.Fatal(err)
	}
	other, err := random.Image(300, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		signatures remote.Taggable // the registry has only the manifest of the signatures
		want       string
	}{
		{huge, "they have more than 16 MiB"},
		{empty.Index, "they are an index"},
		{other, "BLOB_UNKNOWN"},
	} {
		if err := remote.Put(tag, c.signatures); err != nil {
			t.Fatal(err)
		}
		if _, err := Update(t.Context(), m, Upstream{"docker://", wanted}, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
		checkImages(t, m, wanted, 0, 0)
	}
}

// TestManifestsAreBounded checks that a registry cannot fill the memory or the disk of the bastion with a manifest.
func TestManifestsAreBounded(t *testing.T) {
	up := startRegistry(t)
	small, err := random.Image(300, 1)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := small.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: up.host})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".sig") {
			forward.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", string(types.DockerManifestSchema2))
		_, _ = io.WriteString(w, string(manifest)+strings.Repeat(" ", layout.MaxManifest+1-len(manifest))) // the client may have disconnected
	}))
	t.Cleanup(server.Close)
	m := engine.Mirror{Layout: filepath.Join(t.TempDir(), "images")}
	from := "docker://" + strings.TrimPrefix(server.URL, "http://") + "/acme/os"
	if _, err := Update(t.Context(), m, Upstream{from, []Wanted{{Image: up.image}}}, io.Discard); err == nil || !strings.Contains(err.Error(), "manifest has more than 4 MiB") {
		t.Errorf("%.300v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(m.Layout, "blobs/sha256/*")); len(files) != 0 {
		t.Errorf("new files %q", files)
	}
	if _, _, err := layout.ParseManifest(append(manifest, make([]byte, layout.MaxManifest)...)); err == nil || !strings.Contains(err.Error(), "more than 4 MiB") {
		t.Errorf("ParseManifest: %v", err)
	}
}

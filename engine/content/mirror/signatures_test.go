package mirror

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

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

package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	ocilayout "github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"pgregory.net/rapid"
)

// makeLayout makes a layout with an image of four layers.
func makeLayout(t *testing.T) (*Layout, string, v1.Hash) {
	t.Helper()
	folder, err := ocilayout.Write(t.TempDir(), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	image, err := random.Image(1000, 4)
	if err == nil {
		err = folder.AppendImage(image)
	}
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	l, err := Open(string(folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, string(folder), digest
}

// TestReadImageIsBounded checks that a layout that exceeds a bound is refused.
func TestReadImageIsBounded(t *testing.T) {
	l, folder, digest := makeLayout(t)
	if got, err := l.ReadImage(t.Context(), digest, true); err != nil || !got.IsComplete() || len(got.Blobs) != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	l.most = 5
	if _, err := l.ReadImage(t.Context(), digest, true); err == nil || !strings.Contains(err.Error(), "more than 5 blobs") {
		t.Errorf("an image of more blobs: %v", err)
	}
	l.most = maxBlobs
	if err := os.Truncate(filepath.Join(folder, "blobs/sha256", digest.Hex), MaxManifest+1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReadImage(t.Context(), digest, true); err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes") {
		t.Errorf("a huge manifest: %v", err)
	}
	if err := os.Truncate(filepath.Join(folder, "index.json"), maxIndex+1); err != nil {
		t.Fatal(err)
	}
	if _, err := l.ReadImage(t.Context(), digest, true); err == nil || !strings.Contains(err.Error(), "index.json has more than") {
		t.Errorf("a huge index.json: %v", err)
	}
}

// TestParseManifestTakesAnything checks that an invalid manifest is an error, never a panic, and that a digest never
// becomes another path.
func TestParseManifestTakesAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		digest := rapid.OneOf(rapid.String(), rapid.Just("sha256:"+strings.Repeat("a", 64)), rapid.Just("sha256:../../etc/passwd"), rapid.Just("sha512:"+strings.Repeat("a", 128))).Draw(t, "digest")
		text := strings.NewReplacer("DIGEST", strings.ReplaceAll(strings.ReplaceAll(digest, `\`, ""), `"`, ""), "SIZE", rapid.SampledFrom([]string{"1", "-1", "x", "9223372036854775807"}).Draw(t, "text")).
			Replace(`{"config":{"digest":"DIGEST","size":SIZE},"layers":[{"digest":"DIGEST","size":1}]}`)
		_, blobs, err := ParseManifest([]byte(text))
		for _, b := range blobs {
			if err == nil && (b.Size < 0 || strings.Contains(b.Path(), "..") || b.Digest.Algorithm != "sha256") {
				t.Errorf("%s is read as %+v", text, b)
			}
		}
		_, _, _ = ParseManifest([]byte(digest))
	})
}

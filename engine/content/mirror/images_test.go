package mirror

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"holdfast/engine"
)

// upstreamRegistry is a registry with an image for two platforms and its
// signatures.
type upstreamRegistry struct {
	host  string
	image string // NAME@DIGEST
}

func startRegistry(t *testing.T) *upstreamRegistry {
	t.Helper()
	up := &upstreamRegistry{}
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	up.host = strings.TrimPrefix(server.URL, "http://")
	tag, err := name.NewTag(up.host + "/acme/os:1")
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range []string{"amd64", "arm64"} {
		image, err := random.Image(50_000, 3)
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	signatures, err := random.Image(300, 1)
	if err == nil {
		err = remote.Write(tag.Tag(digest.Algorithm+"-"+digest.Hex+".sig"), signatures)
	}
	if err != nil {
		t.Fatal(err)
	}
	up.image = tag.Repository.Name() + "@" + digest.String()
	return up
}

// blobsOfImage counts two images with three layers, a configuration and a manifest each, the index, and the signatures
// with a manifest, a configuration and a layer.
const blobsOfImage = 2*5 + 1 + 3

// checkImages checks the state of the mirror.
func checkImages(t *testing.T, m engine.Mirror, wanted []Wanted, missing, damaged int) []ContentStatus {
	t.Helper()
	got, err := Check(t.Context(), m, wanted)
	if err != nil || len(got) != 1 || len(got[0].Missing) != missing || len(got[0].Damaged) != damaged {
		t.Fatalf("%+v, %v; want %d missing, %d damaged", got, err, missing, damaged)
	}
	return got
}

// TestImagesComeFromARegistryOrALayout checks that an index arrives with all its images and signatures, from a registry
// or another layout, and that only missing and damaged blobs are fetched again.
func TestImagesComeFromARegistryOrALayout(t *testing.T) {
	up := startRegistry(t)
	m := engine.Mirror{Layout: filepath.Join(t.TempDir(), "images")}
	wanted := []Wanted{{Image: up.image, Pools: []string{"worker"}}}
	update := func(from string) string {
		t.Helper()
		var out bytes.Buffer
		all, err := Update(t.Context(), m, Upstream{from, wanted}, &out)
		if err != nil || len(all) != 1 || !all[0].IsComplete() || !all[0].Signed || all[0].Objects != blobsOfImage {
			t.Fatalf("%+v, %v: %s", all, err, out.String())
		}
		return out.String()
	}
	if _, err := Check(t.Context(), m, wanted); err == nil {
		t.Error("a layout that is not there was checked")
	}
	if out := update("docker://"); strings.Count(out, "fetch ") != 2*4+2 {
		t.Errorf("fetched %s", out)
	}
	if out := update("docker://" + up.host + "/acme/os"); out != "" {
		t.Errorf("fetched again: %s", out)
	}
	var blobs []string
	for _, arch := range checkImages(t, m, wanted, 0, 0) {
		files, _ := filepath.Glob(filepath.Join(m.Layout, "blobs/sha256/*"))
		if len(files) != arch.Objects {
			t.Errorf("%d files for %d blobs", len(files), arch.Objects)
		}
		blobs = files
	}
	second := engine.Mirror{Layout: m.Layout}
	m.Layout = filepath.Join(t.TempDir(), "copied")
	update(second.Layout)
	m = second

	layers := func() (list []string) {
		for _, b := range blobs {
			if info, err := os.Stat(b); err == nil && info.Size() > 40_000 {
				list = append(list, b)
			}
		}
		return list
	}()
	data, err := os.ReadFile(layers[1])
	if err != nil {
		t.Fatal(err)
	}
	data[7] ^= 1
	if err := os.Remove(layers[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(layers[1], data, 0o644); err != nil {
		t.Fatal(err)
	}
	checkImages(t, m, wanted, 1, 1)
	if out := update("docker://"); strings.Count(out, "fetch ") != 2 {
		t.Errorf("fetched %s", out)
	}
	for _, b := range blobs { // damages every blob, one after the other
		if err := os.WriteFile(b, []byte("damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
		update("docker://")
	}
}

// TestASourceWithOtherContentsIsRefused checks that data without the right
// digest are not kept.
func TestASourceWithOtherContentsIsRefused(t *testing.T) {
	up := startRegistry(t)
	wanted := []Wanted{{Image: up.image}}
	source, m := engine.Mirror{Layout: filepath.Join(t.TempDir(), "source")}, engine.Mirror{Layout: filepath.Join(t.TempDir(), "images")}
	if _, err := Update(t.Context(), source, Upstream{"docker://", wanted}, io.Discard); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(source.Layout, "blobs/sha256/*"))
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() < 40_000 {
			continue
		}
		if err := os.WriteFile(file, []byte("tampered"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Update(t.Context(), m, Upstream{source.Layout, wanted}, io.Discard); err == nil || !strings.Contains(err.Error(), "other contents") {
		t.Errorf("tampered: %v", err)
	}
	all, err := Check(t.Context(), m, wanted)
	if err != nil || len(all[0].Missing) == 0 || len(all[0].Damaged) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	unknown := []Wanted{{Image: up.host + "/acme/none@sha256:" + strings.Repeat("0", 64)}}
	if _, err := Update(t.Context(), m, Upstream{"docker://", unknown}, io.Discard); err == nil || !strings.Contains(err.Error(), "fetch image") {
		t.Errorf("unknown: %v", err)
	}
}

// TestUpdateNeedsTheRightSource checks that commits cannot come from a source of images, and that a folder with other
// files does not become a layout.
func TestUpdateNeedsTheRightSource(t *testing.T) {
	commits, images := []Wanted{{Ref: "r", Commit: strings.Repeat("0", 64)}}, []Wanted{{Image: "quay.invalid/x@sha256:" + strings.Repeat("0", 64)}}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m    engine.Mirror
		up   Upstream
		want string
	}{
		{engine.Mirror{Layout: full}, Upstream{"docker://", commits}, "no pool fetches an image"},
		{engine.Mirror{Layout: full}, Upstream{"https://quay.invalid", images}, "no pool fetches a commit"},
		{engine.Mirror{Layout: full}, Upstream{"docker://", images}, "it is not an image layout"},
		{engine.Mirror{}, Upstream{"docker://", images}, "names no image layout"},
		{engine.Mirror{Layout: full}, Upstream{"docker://A B", images}, "--from docker://A B"},
	} {
		if _, err := Update(t.Context(), c.m, c.up, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

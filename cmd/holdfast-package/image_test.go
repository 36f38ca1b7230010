package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// stubVersion has all characters that a version may have, and a tag may not.
const stubVersion = "0.0.0~20261121080000.aaaaaaaaaaaa+changed"

// imageOfStubs returns the archive of an image with stubs of the program.
func imageOfStubs(t *testing.T) []byte {
	t.Helper()
	root, programs, out := t.TempDir(), t.TempDir(), t.TempDir()
	for file, text := range map[string]string{
		filepath.Join(root, "LICENSE"): "Apache", filepath.Join(programs, "amd64"): "program for amd64", filepath.Join(programs, "arm64"): "program for arm64",
	} {
		if err := writeFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	src := source{dir: root, commit: strings.Repeat("a", 40), version: stubVersion, time: time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)}
	if err := src.writeImage(programs, []string{"amd64", "arm64"}, out); err != nil {
		t.Fatal(err)
	}
	archive, err := os.ReadFile(filepath.Join(out, "holdfast_"+imageTag(stubVersion)+".oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// TestSameImage: the same files make the same image, at another time, in other folders, and with another umask.
func TestSameImage(t *testing.T) {
	first := imageOfStubs(t)
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	if !bytes.Equal(first, imageOfStubs(t)) {
		t.Error("the image differs when it is made again")
	}
}

// TestImage: a registry takes the image. It has a user of its own, no shell, a folder that this user may write to, and a program for each architecture.
func TestImage(t *testing.T) {
	for arch, image := range readImages(t, imageOfStubs(t)) {
		if err := validate.Image(image); err != nil {
			t.Errorf("%s: %v", arch, err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != arch || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/holdfast"}) || config.Created.Year() != 2026 {
			t.Errorf("%s: %+v", arch, config)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%s: %d layers: %v", arch, len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		eachEntry(t, content, func(h *tar.Header, data []byte) {
			line := fmt.Sprintf("%o %d %s", h.Mode, h.Uid, h.Name)
			if h.Name == "usr/bin/holdfast" {
				line += " " + string(data)
			}
			got = append(got, line)
		})
		want := []string{
			"755 0 etc/", "644 0 etc/group", "644 0 etc/passwd", "1777 0 tmp/", "755 0 usr/", "755 0 usr/bin/", "755 0 usr/bin/holdfast program for " + arch,
			"755 0 usr/share/", "755 0 usr/share/doc/", "755 0 usr/share/doc/holdfast/", "644 0 usr/share/doc/holdfast/LICENSE", "755 0 var/", "755 0 var/lib/", "700 65532 var/lib/holdfast/",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has\n%s", arch, strings.Join(got, "\n"))
		}
	}
}

// TestTag: the file and the image are named by a tag that a registry takes. The label has the version itself.
func TestTag(t *testing.T) {
	for version, want := range map[string]string{
		stubVersion: "0.0.0-20261121080000.aaaaaaaaaaaa-changed", "0.1.0": "0.1.0", "1.0.0~rc1+é": "1.0.0-rc1--", strings.Repeat("1", 200): strings.Repeat("1", 128),
	} {
		tag := imageTag(version)
		if tag != want {
			t.Errorf("%s becomes %s, not %s", version, tag, want)
		}
		if _, err := name.NewTag("registry.example/holdfast:"+tag, name.StrictValidation); err != nil {
			t.Error(err)
		}
	}
	archive := imageOfStubs(t)
	eachEntry(t, bytes.NewReader(archive), func(h *tar.Header, data []byte) {
		if h.Name == "index.json" && !strings.Contains(string(data), `"`+imageTag(stubVersion)+`"`) {
			t.Errorf("the image does not have the tag: %s", data)
		}
	})
	for arch, image := range readImages(t, archive) {
		config, err := image.ConfigFile()
		if err != nil || config.Config.Labels["org.opencontainers.image.version"] != stubVersion {
			t.Errorf("%s: %+v: %v", arch, config.Config.Labels, err)
		}
	}
}

// readImages returns the images of an archive by architecture.
func readImages(t *testing.T, archive []byte) map[string]v1.Image {
	t.Helper()
	dir := t.TempDir()
	eachEntry(t, bytes.NewReader(archive), func(h *tar.Header, data []byte) {
		if h.Typeflag == tar.TypeReg {
			if err := writeFile(filepath.Join(dir, h.Name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("%+v: %v", manifest, err)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	images := map[string]v1.Image{}
	for _, d := range manifest.Manifests {
		if images[d.Platform.Architecture], err = index.Image(d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if len(images) != 2 {
		t.Fatalf("%d images", len(images))
	}
	return images
}

func eachEntry(t *testing.T, archive io.Reader, do func(*tar.Header, []byte)) {
	t.Helper()
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		do(h, data)
	}
}

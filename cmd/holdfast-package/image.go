package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser is the user and group of the image, as in other images without a shell.
const imageUser = 65532

// imageState is the folder of the image that must be kept: the identity of the bastion, and the journals of its runs.
const imageState = "/var/lib/holdfast"

// writeImage writes an archive with an OCI image for these architectures. The programs are in the folder programs, by architecture.
func (s source) writeImage(programs string, arches []string, out string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range arches {
		image, err := s.makeImage(filepath.Join(programs, arch), arch)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	work, err := os.MkdirTemp("", "holdfast-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	written, err := layout.Write(work, empty.Index)
	if err == nil {
		err = written.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": imageTag(s.version)}))
	}
	if err != nil {
		return err
	}
	file := filepath.Join(out, "holdfast_"+imageTag(s.version)+".oci.tar")
	if err := s.archiveFolder(work, file); err != nil {
		return err
	}
	fmt.Println("created image:", file)
	return nil
}

// notInTags are the characters that a version of a package may have, and a tag of an image may not.
var notInTags = regexp.MustCompile(`[^0-9A-Za-z_.-]`)

// imageTag returns the version as a tag of an image.
func imageTag(version string) string {
	const longest = 128
	tag := notInTags.ReplaceAllString(version, "-")
	return tag[:min(len(tag), longest)]
}

// makeImage returns the image for an architecture. It has one layer.
func (s source) makeImage(program, arch string) (v1.Image, error) {
	packed, err := s.packLayer(program)
	if err != nil {
		return nil, err
	}
	layer, err := partial.CompressedToLayer(packedLayer(packed))
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: s.time}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: "linux", Architecture: arch, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%[1]d", imageUser), WorkingDir: imageState, Entrypoint: []string{"/usr/bin/holdfast"},
			Env:     []string{"PATH=/usr/bin", "HOME=" + imageState, "XDG_STATE_HOME=" + imageState + "/state", "HOLDFAST_RUNS=" + imageState + "/runs", "HOLDFAST_INVENTORY=/etc/holdfast/site"},
			Volumes: map[string]struct{}{imageState: {}},
			Labels:  map[string]string{"org.opencontainers.image.title": "holdfast", "org.opencontainers.image.version": s.version, "org.opencontainers.image.revision": s.commit, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: created, CreatedBy: "holdfast-package"}})
}

// packLayer returns a compressed archive with all files of an image.
func (s source) packLayer(program string) ([]byte, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	licence, err := os.ReadFile(filepath.Join(s.dir, "LICENSE"))
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tarWriter{tar.NewWriter(z), s}
	for _, e := range []struct {
		name  string
		mode  int64
		owner int
		data  []byte // nil: a folder
	}{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, fmt.Appendf(nil, "root:x:0:\nholdfast:x:%d:\n", imageUser)},
		{"etc/passwd", 0o644, 0, fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nholdfast:x:%d:%[1]d:holdfast:%s:/sbin/nologin\n", imageUser, imageState)},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
		{"usr/bin/holdfast", 0o755, 0, binary},
		{"usr/share/", 0o755, 0, nil},
		{"usr/share/doc/", 0o755, 0, nil},
		{"usr/share/doc/holdfast/", 0o755, 0, nil},
		{"usr/share/doc/holdfast/LICENSE", 0o644, 0, licence},
		{"var/", 0o755, 0, nil},
		{"var/lib/", 0o755, 0, nil},
		{"var/lib/holdfast/", 0o700, imageUser, nil},
	} {
		if err := w.add(tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner}, e.data); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// archiveFolder writes a folder as an archive: its files in the order of their names, with the time of the commit.
func (s source) archiveFolder(from, file string) error {
	var packed bytes.Buffer
	w := tarWriter{tar.NewWriter(&packed), s}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.add(tar.Header{Name: filepath.ToSlash(below) + "/", Mode: 0o755}, nil)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return w.add(tar.Header{Name: filepath.ToSlash(below), Mode: 0o644}, data)
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return writeFile(file, packed.Bytes(), 0o644)
}

// tarWriter writes archives whose entries have the time of the commit.
type tarWriter struct {
	*tar.Writer
	source source
}

func (w tarWriter) add(h tar.Header, data []byte) error {
	h.Typeflag, h.Size, h.ModTime, h.Format = tar.TypeReg, int64(len(data)), w.source.time, tar.FormatUSTAR
	if data == nil {
		h.Typeflag = tar.TypeDir
	}
	if err := w.WriteHeader(&h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

// packedLayer is a layer as a compressed archive.
type packedLayer []byte

// Digest returns the digest of the archive.
func (l packedLayer) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(l))
	return hash, err
}

// Compressed returns the archive.
func (l packedLayer) Compressed() (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(l)), nil
}

// Size returns the size of the archive.
func (l packedLayer) Size() (int64, error) { return int64(len(l)), nil }

// MediaType returns the type of the archive.
func (l packedLayer) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

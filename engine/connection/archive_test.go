package connection

import (
	"archive/tar"
	"bytes"
	"io"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// TestArchive unpacks uploads of several sizes.
func TestArchive(t *testing.T) {
	var files []engine.Upload
	for _, n := range []int{0, 1, 511, 512, 513, 100_000} {
		files = append(files, engine.Upload{Name: resource.Digest(make([]byte, n)), Data: bytes.Repeat([]byte{7}, n)})
	}
	r, err := tarArchive(files)
	if err != nil {
		t.Fatal(err)
	}
	packed := tar.NewReader(r)
	for _, f := range files {
		header, err := packed.Next()
		if err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(packed); err != nil || header.Name != f.Name || !bytes.Equal(data, f.Data) {
			t.Errorf("%s: %d bytes of %s, %v", f.Name, len(data), header.Name, err)
		}
	}
	if _, err := packed.Next(); err != io.EOF {
		t.Errorf("after the last: %v", err)
	}
}

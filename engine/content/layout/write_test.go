package layout

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// newLayout makes a layout without images.
func newLayout(t *testing.T) (*Layout, string) {
	t.Helper()
	folder := t.TempDir()
	if err := Create(folder); err != nil {
		t.Fatal(err)
	}
	l, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, folder
}

// describeBlob returns the descriptor of a blob with these data.
func describeBlob(t *testing.T, data []byte) Blob {
	t.Helper()
	digest, size, err := v1.SHA256(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return Blob{Digest: digest, Size: size}
}

// readFunc is a reader that lets a test watch each read.
type readFunc func([]byte) (int, error)

func (r readFunc) Read(p []byte) (int, error) { return r(p) }

// TestBlobGetsItsNameWhenComplete checks that no file has the name of the blob before all data was read, and that a
// failure leaves no file.
func TestBlobGetsItsNameWhenComplete(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 10_000)
	tampered := append([]byte("x"), data[1:]...)
	broken := errors.New("the connection is lost")
	for name, c := range map[string]struct {
		in   func(context.CancelFunc) io.Reader
		fail bool
	}{
		"complete": {in: func(context.CancelFunc) io.Reader { return bytes.NewReader(data) }},
		"broken": {func(context.CancelFunc) io.Reader {
			return io.MultiReader(bytes.NewReader(data[:50_000]), readFunc(func([]byte) (int, error) { return 0, broken }))
		}, true},
		"short":    {func(context.CancelFunc) io.Reader { return bytes.NewReader(data[:len(data)-1]) }, true},
		"tampered": {func(context.CancelFunc) io.Reader { return bytes.NewReader(tampered) }, true},
		"without end": {func(context.CancelFunc) io.Reader {
			return readFunc(func(p []byte) (int, error) { return copy(p, data), nil })
		}, true},
		"stopped": {func(stop context.CancelFunc) io.Reader {
			return readFunc(func(p []byte) (int, error) { stop(); return copy(p, data), nil })
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, folder := newLayout(t)
			b := describeBlob(t, data)
			path := filepath.Join(folder, b.Path())
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			in, reads := c.in(stop), 0
			err := l.WriteBlob(ctx, b, readFunc(func(p []byte) (int, error) {
				reads++
				if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("after %d reads the blob has its name: %v", reads, err)
				}
				return in.Read(p[:min(len(p), 4096)])
			}))
			if (err != nil) != c.fail || reads == 0 || reads > 100 {
				t.Errorf("%d reads, %v", reads, err)
			}
			files, _ := filepath.Glob(filepath.Join(folder, "blobs/sha256/*"))
			switch got, err := os.ReadFile(path); {
			case c.fail && len(files) > 0:
				t.Errorf("left %q", files)
			case !c.fail && (err != nil || !bytes.Equal(got, data) || len(files) != 1):
				t.Errorf("%d bytes, %v in %q", len(got), err, files)
			}
		})
	}
}

// TestWriteBlobReplacesLeftovers checks that WriteBlob replaces a file or link with its temporary name, and does not
// follow the link. A killed run can leave such a file.
func TestWriteBlobReplacesLeftovers(t *testing.T) {
	data := []byte("contents")
	for name, leave := range map[string]func(part, other string) error{
		"longer file": func(part, _ string) error { return os.WriteFile(part, bytes.Repeat(data, 100), 0o644) },
		"link":        func(part, other string) error { return os.Symlink(filepath.Base(other), part) },
		"hard link":   func(part, other string) error { return os.Link(other, part) },
	} {
		t.Run(name, func(t *testing.T) {
			l, folder := newLayout(t)
			other := filepath.Join(folder, "blobs/sha256/other")
			err := os.WriteFile(other, []byte("another blob"), 0o644)
			if err == nil {
				err = leave(filepath.Join(folder, "blobs/sha256/incomplete"), other)
			}
			if err != nil {
				t.Fatal(err)
			}
			b := describeBlob(t, data)
			if err := l.WriteBlob(t.Context(), b, bytes.NewReader(data)); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(filepath.Join(folder, b.Path())); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%q, %v", got, err)
			}
			if got, err := os.ReadFile(other); err != nil || string(got) != "another blob" {
				t.Errorf("the other blob is %q, %v", got, err)
			}
		})
	}
}

// TestSetTagReplacesTheIndex checks that index.json has its old or its new contents at any time. If the new contents
// cannot be written, the old ones stay.
func TestSetTagReplacesTheIndex(t *testing.T) {
	l, folder := newLayout(t)
	first, second := describeBlob(t, []byte("first")), describeBlob(t, []byte("second"))
	if err := l.SetTag("os", first); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "index.json")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Close() }() // read only
	if err := l.SetTag("os", second); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the reader of the old index.json has %q, %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "index.json.incomplete/full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := l.SetTag("os", first); err == nil {
		t.Error("index.json was written, although its temporary name cannot be")
	}
	if got, found, err := l.FindTag("os"); err != nil || !found || got != second.Digest {
		t.Errorf("%v, %v, %v", got, found, err)
	}
}

// TestCreateFinishesALayout checks that a layout whose making was killed, or lost power, is made at the next time, and that
// other folders are refused and stay as they are.
func TestCreateFinishesALayout(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string // a name that ends in / is a folder
		refuse bool
	}{
		"empty folder":      {},
		"empty blobs":       {files: map[string]string{"blobs/": ""}},
		"empty sha256":      {files: map[string]string{"blobs/sha256/": ""}},
		"temporary marker":  {files: map[string]string{"blobs/sha256/": "", "oci-layout.incomplete": `{"image`}},
		"empty marker":      {files: map[string]string{"blobs/sha256/": "", "oci-layout": ""}},
		"both":              {files: map[string]string{"oci-layout": "", "oci-layout.incomplete": ""}},
		"another file":      {files: map[string]string{"oci-layout.incomplete": "", "photo.jpg": "x"}, refuse: true},
		"a blob":            {files: map[string]string{"oci-layout": "", "blobs/sha256/0123": "x"}, refuse: true},
		"blobs of md5":      {files: map[string]string{"blobs/md5/": ""}, refuse: true},
		"blobs in a file":   {files: map[string]string{"blobs": "x"}, refuse: true},
		"a complete layout": {files: map[string]string{"oci-layout": `{"imageLayoutVersion": "1.0.0"}`, "blobs/sha256/0123": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "images")
			writeTree(t, folder, c.files)
			if err := Create(folder); (err != nil) != c.refuse {
				t.Fatal(err)
			}
			if c.refuse {
				for path, text := range c.files {
					if got, err := os.ReadFile(filepath.Join(folder, path)); !strings.HasSuffix(path, "/") && string(got) != text {
						t.Errorf("%s has %q, %v", path, got, err)
					}
				}
				return
			}
			l, err := Open(folder)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = l.Close() }() // read only
			if err := l.WriteBlob(t.Context(), describeBlob(t, []byte("contents")), strings.NewReader("contents")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(folder, markerPart)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the temporary marker: %v", err)
			}
		})
	}
}

// writeTree makes files, and folders whose names end in /.
func writeTree(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for path, text := range files {
		at := filepath.Join(folder, path)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil && strings.HasSuffix(path, "/") {
			err = os.MkdirAll(at, 0o755)
		} else if err == nil {
			err = os.WriteFile(at, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockIsForOne checks that a second lock is refused until the first one ends.
func TestLockIsForOne(t *testing.T) {
	l, folder := newLayout(t)
	second, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	unlock, err := l.Lock()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Lock(); err == nil {
		t.Error("both have the lock")
	}
	unlock()
	unlock, err = second.Lock()
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

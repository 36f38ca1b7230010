package archive

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine/content/ostreetest"
	"holdfast/engine/longtest"
)

// makeRepository makes a repository with two commits that differ in one file.
func makeRepository(t *testing.T) (repo, first, second string) {
	t.Helper()
	dir := t.TempDir()
	repo, tree := filepath.Join(dir, "repo"), filepath.Join(dir, "tree")
	ostreetest.MustRun(t, repo, "init", "--mode=archive")
	random := make([]byte, 300_000)
	_, _ = rand.Read(random)
	write := func(name string, data []byte) {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("usr/bin/tool", random)
	write("usr/empty", nil)
	write("usr/etc/passwd", []byte("root:x:0:0\n"))
	for i := range 300 { // so many that framing offsets need more than one byte
		write(filepath.Join("usr/many", strings.Repeat("n", i%40)+string(rune('a'+i%26))+strings.Repeat("m", i/26)), []byte{byte(i), byte(i >> 8)})
	}
	if err := os.Symlink(strings.Repeat("long/", 60), filepath.Join(tree, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("usr", filepath.Join(tree, "short")); err != nil {
		t.Fatal(err)
	}
	commit := func() string {
		return ostreetest.MustRun(t, repo, "commit", "-b", "test/x86_64", "--tree=dir="+tree, "--owner-uid=0", "--owner-gid=0", "--add-metadata-string=version=1")
	}
	first = commit()
	write("usr/bin/tool", append(random[:200_000:200_000], "new"...))
	return repo, first, commit()
}

func openRepository(t *testing.T, folder string) *Repository {
	t.Helper()
	r, err := Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// TestCheckFindsWhatOstreeWrote compares the objects of a commit with the files that ostree wrote.
func TestCheckFindsWhatOstreeWrote(t *testing.T) {
	folder, first, _ := makeRepository(t)
	only := filepath.Join(t.TempDir(), "one")
	ostreetest.MustRun(t, only, "init", "--mode=archive")
	ostreetest.MustRun(t, only, "pull-local", folder, first)
	var files int
	var size int64
	err := filepath.Walk(filepath.Join(only, "objects"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files++
			size += info.Size()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := openRepository(t, only).Check(t.Context(), first, true)
	if err != nil || len(got.Missing)+len(got.Damaged) > 0 || got.Objects != files || got.Bytes != size {
		t.Errorf("checked %+v, %v; ostree wrote %d objects, %d bytes", got, err, files, size)
	}
}

func TestSizeIsOfTheDifference(t *testing.T) {
	folder, first, second := makeRepository(t)
	r := openRepository(t, folder)
	whole, err := r.Size(t.Context(), second, "")
	if err != nil {
		t.Fatal(err)
	}
	change, err := r.Size(t.Context(), second, first)
	if err != nil || change < 200_000 || change > whole-100 || change > 210_000 {
		t.Errorf("difference of %d bytes, whole %d, %v", change, whole, err)
	}
	if n, err := r.Size(t.Context(), second, strings.Repeat("0", 64)); err != nil || n != whole {
		t.Errorf("with an unknown commit: %d bytes, want %d, %v", n, whole, err)
	}
}

// TestCheckFindsDamage changes or removes every object, one after the other.
func TestCheckFindsDamage(t *testing.T) {
	folder, first, _ := makeRepository(t)
	r := openRepository(t, folder)
	objects, err := r.walkObjects(t.Context(), first, func(Object, error) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]int{}
	for o := range objects {
		if kinds[o.Kind]++; kinds[o.Kind] > longtest.Pick(4, 12) {
			continue
		}
		path := filepath.Join(folder, o.Path())
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(data)
		changed[len(changed)-1] ^= 1
		for _, c := range []struct {
			name             string
			data             []byte
			missing, damaged int
		}{{"changed", changed, 0, 1}, {"cut", data[:len(data)/2], 0, 1}, {"empty", []byte{}, 0, 1}, {"removed", nil, 1, 0}} {
			err := os.WriteFile(path, c.data, 0o644)
			if c.data == nil {
				err = os.Remove(path)
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Check(t.Context(), first, true)
			if err != nil || len(got.Missing) != c.missing || len(got.Damaged) != c.damaged {
				t.Errorf("%s %s: %d missing, %d damaged, %v", o.Path(), c.name, len(got.Missing), len(got.Damaged), err)
			}
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := r.Check(t.Context(), first, true); err != nil || len(got.Missing)+len(got.Damaged) > 0 {
		t.Errorf("restored: %+v, %v", got, err)
	}
}

func TestOpenRefusesOtherRepositories(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "bare")
	ostreetest.MustRun(t, bare, "init", "--mode=bare-user")
	if _, err := Open(bare); err == nil || !strings.Contains(err.Error(), "bare-user") {
		t.Errorf("a bare repository: %v", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a repository") {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("there is no folder")
	}
}

func TestWalkEndsWithContext(t *testing.T) {
	folder, first, _ := makeRepository(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openRepository(t, folder).Check(ctx, first, false); err == nil {
		t.Error("it went on")
	}
}

// TestParsersTakeAnything checks that a parser returns an error for any invalid metadata, and never panics.
func TestParsersTakeAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "data")
		_, _ = parseCommit(data)
		_, _ = parseTree(data)
		_, _ = readFileHeader(bytes.NewReader(data))
		_, _ = splitArray(data, 1)
		_, _ = splitArray(data, 8)
	})
}

// TestCheckIsBounded checks that a commit with too many objects is refused, and that a file with more contents than its
// size is damaged.
func TestCheckIsBounded(t *testing.T) {
	folder, first, _ := makeRepository(t)
	r := openRepository(t, folder)
	r.most = 10
	if _, err := r.Check(t.Context(), first, false); err == nil || !strings.Contains(err.Error(), "more than 10 objects") {
		t.Errorf("a commit of more objects: %v", err)
	}

	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	for range 64 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(packed.Bytes())
	if n, err := unpackContents(t.Context(), io.Discard, in, 1<<20); err == nil || n > 1<<20+1 {
		t.Errorf("64 MiB in a file of 1 MiB: %d bytes were unpacked, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := unpackContents(ctx, io.Discard, bytes.NewReader(packed.Bytes()), 64<<20); err == nil {
		t.Error("it went on after the end of its context")
	}
}

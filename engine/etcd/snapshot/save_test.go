package snapshot

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// makeSnapshot returns a snapshot as etcd sends it: a database of whole pages, then
// the SHA-256 of the database.
func makeSnapshot(pages int) []byte {
	body := bytes.Repeat([]byte{7}, pages*pageSize)
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}

// TestSaveSnapshot checks that a snapshot can arrive in pieces of any size. A
// snapshot that is damaged or ends early is refused and leaves no file.
func TestSaveSnapshot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.db")
	rapid.Check(t, func(t *rapid.T) {
		whole := makeSnapshot(rapid.IntRange(1, 5).Draw(t, "pages"))
		size, _, err := Save(path, iotest.HalfReader(bytes.NewReader(whole)), 1<<20)
		saved, readErr := os.ReadFile(path)
		if err != nil || readErr != nil || size != int64(len(whole)) || !bytes.Equal(saved, whole) {
			t.Fatalf("%d bytes, %v, %v", size, err, readErr)
		}
		at := rapid.IntRange(0, len(whole)-1).Draw(t, "at")
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		for _, bad := range [][]byte{flipped, whole[:at]} {
			if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if _, _, err := Save(path, bytes.NewReader(bad), 1<<20); err == nil {
				t.Fatal("accepted")
			}
		}
		if _, _, err := Save(path, bytes.NewReader(whole), 1<<20); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Save(path, bytes.NewReader(whole), 1<<20); err == nil {
			t.Fatal("written over a file that was there")
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Save(path, bytes.NewReader(whole), int64(len(whole)-1)); err == nil {
			t.Fatal("accepted, although it is longer than the limit")
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Fatalf("left %v: %v", entries, err)
		}
	})
}

// TestSaveEmptySnapshot checks that a stream with only the hash of an empty
// database is refused.
func TestSaveEmptySnapshot(t *testing.T) {
	if _, _, err := Save(filepath.Join(t.TempDir(), "x.db"), bytes.NewReader(makeSnapshot(0)), 1<<20); err == nil {
		t.Fatal("accepted")
	}
}

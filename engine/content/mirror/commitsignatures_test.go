package mirror

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content/ostreetest"
)

// TestSignaturesOfCommits checks that a commit in the mirror is signed if its signatures arrived, and that an update
// fetches signatures that are missing or damaged, although all objects are there.
func TestSignaturesOfCommits(t *testing.T) {
	upstream, tree := filepath.Join(t.TempDir(), "upstream"), t.TempDir()
	ostreetest.MustRun(t, upstream, "init", "--mode=archive")
	commit := ostreetest.MustRun(t, upstream, "commit", "-b", "lab/stable", "--tree=dir="+tree, "--owner-uid=0", "--owner-gid=0")
	server := httptest.NewServer(http.FileServer(http.Dir(upstream)))
	t.Cleanup(server.Close)
	wanted := []Wanted{{Ref: "lab/stable", Commit: commit}}
	checkSigned := func(m engine.Mirror, when string, signed bool) {
		t.Helper()
		all, err := Check(t.Context(), m, wanted)
		if err != nil || len(all) != 1 || all[0].Signed != signed || !all[0].IsComplete() {
			t.Errorf("%s: %+v, %v; want signed %v, and complete", when, all, err, signed)
		}
	}
	update := func(m engine.Mirror, from string) {
		t.Helper()
		var out bytes.Buffer
		if _, err := Update(t.Context(), m, Upstream{from, wanted}, &out); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	sources := map[string]engine.Mirror{}
	for _, from := range []string{upstream, server.URL} {
		sources[from] = engine.Mirror{Repository: filepath.Join(t.TempDir(), "repo")}
		update(sources[from], from)
		checkSigned(sources[from], "before the commit is signed", false)
	}
	ostreetest.SignCommit(t, upstream, commit)
	for from, m := range sources {
		update(m, from)
		checkSigned(m, "after the commit is signed", true)
		file := filepath.Join(m.Repository, "objects", commit[:2], commit[2:]+".commitmeta")
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		checkSigned(m, "without the signatures", false)
		update(m, from)
		checkSigned(m, "fetched again", true)
		if err := os.Remove(file); err != nil { // first, because it may be a hard link to the file upstream
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data[:len(data)/2], 0o644); err != nil {
			t.Fatal(err)
		}
		checkSigned(m, "with half of the signatures", false)
		update(m, from)
		checkSigned(m, "repaired", true)
	}
}

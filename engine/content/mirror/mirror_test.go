package mirror

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/content/ostreetest"
)

func TestUpdateThenCheck(t *testing.T) {
	upstream, folder, tree := filepath.Join(t.TempDir(), "upstream"), filepath.Join(t.TempDir(), "mirror/repo"), t.TempDir()
	for _, name := range []string{"one", "two"} {
		if err := os.WriteFile(filepath.Join(tree, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ostreetest.MustRun(t, upstream, "init", "--mode=archive")
	commit := ostreetest.MustRun(t, upstream, "commit", "-b", "lab/stable", "--tree=dir="+tree, "--owner-uid=0", "--owner-gid=0")
	m := engine.Mirror{Repository: folder}
	wanted := []Wanted{{Ref: "lab/stable", Commit: commit, Pools: []string{"worker"}}}
	if _, err := Check(t.Context(), m, wanted); err == nil {
		t.Error("a repository that is not there was checked")
	}
	var out bytes.Buffer
	for range 2 { // the second call has nothing to do
		if _, err := Update(t.Context(), m, Upstream{upstream, wanted}, &out); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	check := func(missing, damaged int) {
		t.Helper()
		got, err := Check(t.Context(), m, wanted)
		if err != nil || len(got) != 1 || got[0].Objects != 5 || len(got[0].Missing) != missing || len(got[0].Damaged) != damaged {
			t.Errorf("%+v, %v; want %d missing, %d damaged", got, err, missing, damaged)
		}
	}
	check(0, 0)
	if ref := ostreetest.MustRun(t, folder, "rev-parse", "lab/stable"); ref != commit {
		t.Errorf("the ref is %s", ref)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "objects/*/*.filez"))
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	check(1, 0)
	if err := os.Remove(files[1]); err != nil { // first, because the file may be a hard link to the file upstream
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	check(1, 1)
	if _, err := Update(t.Context(), m, Upstream{upstream, wanted}, &out); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	check(0, 0)
	for _, kind := range []string{"dirtree", "dirmeta", "commit"} { // ostree reads metadata, and may stop at damaged metadata
		metadata, _ := filepath.Glob(filepath.Join(folder, "objects/*/*."+kind))
		if err := os.Remove(metadata[0]); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(metadata[0], []byte("damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Update(t.Context(), m, Upstream{upstream, wanted}, &out); err != nil {
			t.Errorf("after a damaged %s: %v: %s", kind, err, out.String())
		}
		check(0, 0)
	}
	nameless := append(wanted[:1:1], Wanted{Commit: strings.Repeat("0", 64)})
	if _, err := Update(t.Context(), engine.Mirror{Repository: filepath.Join(tree, "untouched")}, Upstream{upstream, nameless}, &out); err == nil || !strings.Contains(err.Error(), "has no ref") {
		t.Errorf("without a ref: %v", err)
	}
	if _, err := os.Stat(filepath.Join(tree, "untouched")); !os.IsNotExist(err) {
		t.Errorf("something was made although a commit has no ref: %v", err)
	}
	lost, _ := filepath.Glob(filepath.Join(upstream, "objects/*/*.filez"))
	if err := os.Remove(lost[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(lost[1], []byte("damaged"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Update(t.Context(), engine.Mirror{Repository: filepath.Join(t.TempDir(), "other")}, Upstream{upstream, wanted}, &out)
	for i, state := range []string{"missing", "damaged"} {
		name, _ := filepath.Rel(upstream, lost[i])
		if err == nil || !strings.Contains(err.Error(), state+": "+name) {
			t.Errorf("from a folder with a lost and a damaged object: %v, want %s: %s", err, state, name)
		}
	}
	unmade := engine.Mirror{Repository: filepath.Join(t.TempDir(), "unmade", "repo")}
	if _, err := Update(t.Context(), unmade, Upstream{filepath.Join(tree, "none"), wanted}, &out); err == nil || !strings.Contains(err.Error(), "none is not an ostree repository: no such file or directory; name the URL") {
		t.Errorf("from nowhere: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(unmade.Repository)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder was made for a source that does not exist: %v", err)
	}
	if _, err := Update(t.Context(), m, Upstream{"file:///nowhere", wanted}, &out); err == nil || !strings.Contains(err.Error(), "ostree pull") {
		t.Errorf("from a URL that leads nowhere: %v", err)
	}
}

func TestListWanted(t *testing.T) {
	pool := func(name, commit, source string) engine.Pool {
		return engine.Pool{Name: name, OS: &engine.OS{Driver: "ostree", Ref: "r", Commit: commit, Source: source}}
	}
	got := ListWanted(engine.Inventory{Pools: []engine.Pool{
		pool("a", "1", "bastion"), pool("b", "2", ""),
		{Name: "c"},
		pool("d", "3", "bastion"), pool("e", "1", "bastion"),
		{Name: "f", OS: &engine.OS{Driver: "bootc", Image: "x@4", Source: "bastion"}},
	}})
	want := []Wanted{{Ref: "r", Commit: "1", Pools: []string{"a", "e"}}, {Ref: "r", Commit: "3", Pools: []string{"d"}}, {Image: "x@4", Pools: []string{"f"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

package host

import (
	"testing"
	"testing/fstest"
)

func TestDefaultEntry(t *testing.T) {
	entry := func(version, target string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("title lab\nversion " + version + "\noptions root=LABEL=root rw ostree=" + target + "\nlinux /x\n")}
	}
	for _, c := range []struct {
		name string
		boot fstest.MapFS
		want string
	}{
		{"one", fstest.MapFS{"loader/entries/ostree-1-lab.conf": entry("1", "/a")}, "/a"},
		{"by version, not name", fstest.MapFS{
			"loader/entries/ostree-1.conf": entry("2", "/new"),
			"loader/entries/ostree-2.conf": entry("1", "/old"),
		}, "/new"},
		{"as a number", fstest.MapFS{
			"loader/entries/ostree-1.conf": entry("9", "/nine"),
			"loader/entries/ostree-2.conf": entry("10", "/ten"),
		}, "/ten"},
		{"other files", fstest.MapFS{
			"loader/entries/ostree-1.conf":     entry("1", "/a"),
			"loader/entries/ostree-2.conf.bak": entry("7", "/b"),
		}, "/a"},
	} {
		e, err := defaultEntry(c.boot)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, err := e.findDeployment(); got != c.want || err != nil {
			t.Errorf("%s: got %s (%v), want %s", c.name, got, err, c.want)
		}
	}
}

func TestDefaultEntryErrors(t *testing.T) {
	for name, boot := range map[string]fstest.MapFS{
		"nothing":     {},
		"no entry":    {"loader/entries/README": &fstest.MapFile{}},
		"bad version": {"loader/entries/a.conf": &fstest.MapFile{Data: []byte("version x\n")}},
	} {
		if e, err := defaultEntry(boot); err == nil {
			t.Errorf("%s: got %v", name, e)
		}
	}
	if _, err := (bootEntry{Options: "rw"}).findDeployment(); err == nil {
		t.Error("options without ostree= are accepted")
	}
}

package main

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/lab"
)

// TestBenchFlags checks that a series continues with its own settings, except
// for flags that are given.
func TestBenchFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	first := benchFlags{ways: "de", size: "60M", runs: 2, megabytes: []uint{50, 200}, results: dir}
	all := func(string) bool { return true }
	s, err := first.readSettings(all)
	if err != nil {
		t.Fatal(err)
	}
	results, err := first.openResults(s)
	if err := errors.Join(err, results.Close()); err != nil {
		t.Fatal(err)
	}
	again := benchFlags{ways: "rabcde", size: "500M", runs: 5, megabytes: []uint{50}, resume: dir}
	s, err = again.readSettings(func(name string) bool { return name == "runs" })
	if err != nil || s.Ways != "de" || s.Bytes != 60<<20 || s.Runs != 5 || len(s.Speeds) != 2 || s.Speeds[1].BytesPerSecond != 200e6 || s.Speeds[1].IOPS != 2000 {
		t.Errorf("%+v, %v", s, err)
	}
	again.iops = 700
	if s, err := again.readSettings(func(name string) bool { return name == "iops" }); err != nil || len(s.Speeds) != 2 || s.Speeds[1] != (disk.Speed{BytesPerSecond: 200e6, IOPS: 700}) {
		t.Errorf("other operations per second change the speeds: %+v, %v", s, err)
	}
	again.megabytes = []uint{0}
	if _, err := again.readSettings(all); err == nil || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	again.megabytes = []uint{math.MaxUint64/1_000_000 + 100} // in 64 bits, its product is 99 MB/s
	if _, err := again.readSettings(all); err == nil || !strings.Contains(err.Error(), "--mbps must be from 1 to") {
		t.Error(err)
	}
	wrong := benchFlags{ways: "x", size: "500M", runs: 1, megabytes: []uint{50}, results: filepath.Join(dir, "x")}
	if _, err := wrong.readSettings(all); err == nil || !strings.Contains(err.Error(), "--ways") {
		t.Error(err)
	}
}

// refuseLab is an opener that fails the test: no lab is opened, so none is taken
// down.
func refuseLab(t *testing.T) opener {
	return func(*cobra.Command) (*lab.Lab, error) {
		t.Error("the lab was opened")
		return nil, errors.New("no lab in this test")
	}
}

// TestBenchRefusesFoldersEarly checks two kinds of errors: a flag with an
// empty folder, and a folder whose results cannot be read. Each error names the
// flag or the file. Then the bench neither touches the lab nor begins a series.
func TestBenchRefusesFoldersEarly(t *testing.T) {
	t.Chdir(t.TempDir())
	const settings = `{"ways":"r","runs":1,"bytes":1048576,"speeds":[{"bytes_per_second":50000000,"iops":500}]}`
	for path, text := range map[string]string{
		"foreign/settings.json": `{"editor.tabSize":2}`,
		"broken/settings.json":  "// a comment\n",
		"record/settings.json":  settings,
		"record/runs-1.jsonl":   "{\"way\":\n",
		"way/settings.json":     settings,
		"way/runs-1.jsonl":      "{\"way\":\"z\"}\n",
		"wrong/settings.json":   `{"ways":"r","runs":1000000,"bytes":1048576}`,
		"empty/other":           "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	before := listNames(t)
	for _, c := range []struct{ args, want string }{
		{"--table=", "--table must name a folder"},
		{"--resume=", "--resume must name a folder"},
		{"--results=", "--results must name a folder"},
		{"--table=x --resume=y", "resume table"},
		{"--table=empty", "empty/settings.json: no such file or directory; name a folder"},
		{"--table=foreign", "foreign/settings.json: it has no settings of a series; name a folder"},
		{"--resume=foreign", "foreign/settings.json: it has no settings of a series; name a folder"},
		{"--table=broken", "broken/settings.json: invalid character"},
		{"--table=record", "record/runs-1.jsonl:1: unexpected end of JSON input; delete this line"},
		{"--resume=record", "record/runs-1.jsonl:1: unexpected end of JSON input; delete this line"},
		{"--table=way", `way/runs-1.jsonl:1: there is no way "z"; delete this line`},
		{"--resume=wrong", "settings of wrong: --runs must be from 1"},
		{"--runs=0", "--runs must be from 1"},
	} {
		cmd := benchCommand(refuseLab(t))
		cmd.SilenceUsage, cmd.SilenceErrors = true, true
		cmd.SetArgs(append([]string{"etcd-io"}, strings.Fields(c.args)...))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.args, err)
		}
	}
	if names := listNames(t); !slices.Equal(names, before) {
		t.Errorf("new folders: %q", names)
	}
}

// TestBenchMakesNoFolderWithoutLab checks that a bench whose preparations fail
// leaves no folder, which the next try with the same flags would refuse.
func TestBenchMakesNoFolderWithoutLab(t *testing.T) {
	t.Chdir(t.TempDir())
	errLab := errors.New("no lab in this test")
	cmd := benchCommand(func(*cobra.Command) (*lab.Lab, error) { return nil, errLab })
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs([]string{"etcd-io", "--results=new"})
	if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, errLab) {
		t.Error(err)
	}
	if names := listNames(t); len(names) > 0 {
		t.Errorf("new folders: %q", names)
	}
}

func listNames(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestEmptyFoldersAreListedInOrder checks that the errors of all flags are
// reported, always in the same order.
func TestEmptyFoldersAreListedInOrder(t *testing.T) {
	err := benchFlags{resume: "dir"}.checkFolders(func(string) bool { return true })
	if err == nil || strings.Index(err.Error(), "--results") != len("read flags: ") || !strings.Contains(err.Error(), "\nread flags: --table") || strings.Contains(err.Error(), "--resume") {
		t.Error(err)
	}
	if err := (benchFlags{}).checkFolders(func(string) bool { return false }); err != nil {
		t.Error(err)
	}
}

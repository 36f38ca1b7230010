package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestBenchFlags checks that a series continues with its own settings, except
// for flags that are given.
func TestBenchFlags(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	first := benchFlags{ways: "de", size: "60M", runs: 2, megabytes: []uint{50, 200}, results: dir}
	all := func(string) bool { return true }
	if _, _, err := first.openResults(all); err != nil {
		t.Fatal(err)
	}
	again := benchFlags{ways: "rabcde", size: "500M", runs: 5, megabytes: []uint{50}, resume: dir}
	_, s, err := again.openResults(func(name string) bool { return name == "runs" })
	if err != nil || s.Ways != "de" || s.Bytes != 60<<20 || s.Runs != 5 || len(s.Speeds) != 2 || s.Speeds[1].BytesPerSecond != 200e6 || s.Speeds[1].IOPS != 2000 {
		t.Errorf("%+v, %v", s, err)
	}
	wrong := benchFlags{ways: "x", size: "500M", runs: 1, megabytes: []uint{50}, results: filepath.Join(dir, "x")}
	if _, _, err := wrong.openResults(all); err == nil || !strings.Contains(err.Error(), "--ways") {
		t.Error(err)
	}
}

// TestBenchTable checks that results can be printed without a lab, and that a
// folder without results is an error.
func TestBenchTable(t *testing.T) {
	for name, args := range map[string][]string{
		"settings.json": {"--table", t.TempDir()},
		"resume table":  {"--table", "x", "--resume", "y"},
	} {
		root := rootCommand()
		root.SetArgs(append([]string{"bench", "etcd-io"}, args...))
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast/internal/man"
	"holdfast/engine"
	"holdfast/engine/longtest"
)

// TestManPages checks that each command has a page with its flags, the exit codes and the files, that the same input
// makes the same pages, and that mandoc has nothing to complain about.
func TestManPages(t *testing.T) {
	t.Parallel()
	write := func() string {
		dir := t.TempDir()
		if err := man.Write((&app{}).rootCommand(), dir, "holdfast 1.2.3", time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	dir, again := write(), write()
	pages := map[string]string{}
	for path, name := range commandPages((&app{}).rootCommand()) {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if second, err := os.ReadFile(filepath.Join(again, name)); err != nil || string(second) != string(text) {
			t.Errorf("%s differs when it is made again: %v", name, err)
		}
		pages[name] = string(text)
	}
	for name, text := range pages {
		for _, c := range engine.ExitCodes() {
			if c != engine.ExitOK && !strings.Contains(text, `\fB`+string(rune('0'+c))+`\fP`) {
				t.Errorf("%s lacks exit code %d", name, c)
			}
		}
		for _, part := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXIT STATUS\n", ".SH FILES\n", `"2026-11-21" "holdfast 1.2.3"`} {
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
	}
	if text := pages["holdfast-apply.1"]; !strings.Contains(text, `\fB\-\-on\-held\fP \fIskip\fP`) || strings.Contains(text, "Auto generated") {
		t.Error(text)
	}
	tool, err := exec.LookPath("mandoc")
	if err != nil {
		t.Skip("mandoc is missing")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(files) < len(pages) {
		t.Fatal(files, err)
	}
	if out, err := exec.CommandContext(t.Context(), tool, append([]string{"-Tlint", "-Wall"}, files...)...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

// commandPages returns the name of the page of each command.
func commandPages(root *cobra.Command) map[string]string {
	names := map[string]string{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		names[c.CommandPath()] = strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return names
}

// TestGeneratorIsNoPart checks that the program does not contain cobra's generator of pages, which is large.
func TestGeneratorIsNoPart(t *testing.T) {
	longtest.SkipSlow(t) // go list takes seconds
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range []string{"github.com/spf13/cobra/doc", "github.com/cpuguy83/go-md2man/v2/md2man"} {
		if strings.Contains(string(out), pkg+"\n") {
			t.Errorf("the program contains %s", pkg)
		}
	}
}

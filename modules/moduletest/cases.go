package moduletest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
	"holdfast/engine/resource"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata expect")

// RunCases runs the cases in the txtar files in testdata. Sections whose names
// begin with "want" are the expected results; the other sections are the input.
// With -update, RunCases rewrites the expected results.
func RunCases(t *testing.T, results func(t *testing.T, input []txtar.File) []txtar.File) {
	t.Helper()
	for _, path := range casePaths(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			comment, input, whole := readCase(t, path)
			got := txtar.Format(&txtar.Archive{Comment: comment, Files: append(input, results(t, input)...)})
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, whole) {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func casePaths(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases (%v)", err)
	}
	return paths
}

func readCase(t *testing.T, path string) (comment []byte, input []txtar.File, whole []byte) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if !strings.HasPrefix(f.Name, "want") {
			input = append(input, f)
		}
	}
	return archive.Comment, input, txtar.Format(archive)
}

// TestCases runs the cases of a module. In a case, "desired" and "pool" are JSON.
// A section with the name of a command is the output of the command: "NAME (exit
// 1)" with that status, "NAME stderr" on standard error. "record" is the record
// on the host, and "rejected before" lists digests that the host has rejected. If
// there is a section "cluster", the host is a member of an etcd cluster. Sections
// whose names begin with "want" are the expected results of the module.
func TestCases(t *testing.T, m engine.Module) {
	t.Helper()
	RunCases(t, func(t *testing.T, input []txtar.File) []txtar.File { return runCase(t, m, input) })
}

// casePlan is the result of a module for a case.
type casePlan struct {
	desired engine.Desired
	facts   engine.Facts
	changes []engine.Change
	steps   engine.Steps
	err     error // error of Diff
}

func planCase(t *testing.T, m engine.Module, input []txtar.File) casePlan {
	t.Helper()
	var desired engine.Desired
	outputs := engine.Outputs{}
	facts := engine.Facts{BootID: Boot}
	host, pool := engine.Host{Name: "w-1"}, engine.Pool{}
	for _, f := range input {
		switch f.Name {
		case "desired":
			if err := json.Unmarshal(f.Data, &desired); err != nil {
				t.Fatal(err)
			}
		case "pool":
			if err := json.Unmarshal(f.Data, &pool); err != nil {
				t.Fatal(err)
			}
		case "rejected before":
			facts.Rejected = strings.Fields(string(f.Data))
		case "record":
			facts.Config = &resource.ConfigFacts{}
			if err := json.Unmarshal(f.Data, &facts.Config.Applied); err != nil {
				t.Fatal(err)
			}
		case "cluster":
			host.Cluster = strings.TrimSpace(string(f.Data))
		default:
			readOutput(t, outputs, f)
		}
	}
	known := map[string]bool{}
	for _, c := range m.Observer.Probe(desired) {
		known[c.Name] = true
	}
	for name := range outputs {
		if !known[name] {
			t.Fatalf("%q is no command of %s", name, m.Name)
		}
	}
	facts = m.Observer.Read(desired, outputs, facts)
	p := casePlan{desired: desired, facts: facts}
	if m.Changes == nil {
		return p
	}
	found, err := m.Changes.Diff(desired, facts)
	p.changes, p.err = found.Changes, err
	if err == nil && len(found.Changes) > 0 {
		p.steps = found.Steps(engine.Target{Host: host, Pool: pool, Desired: desired, Facts: facts, Run: "r1"}, p.changes)
	}
	return p
}

func runCase(t *testing.T, m engine.Module, input []txtar.File) []txtar.File {
	t.Helper()
	p := planCase(t, m, input)
	files := []txtar.File{Section("want facts", toJSON(t, p.facts))}
	if p.err != nil {
		return append(files, Section("want error", p.err.Error()))
	}
	return append(files, Section("want changes", toJSON(t, p.changes)), Section("want steps", listSteps(p.steps)))
}

func readOutput(t *testing.T, outputs engine.Outputs, f txtar.File) {
	t.Helper()
	name, isErr := strings.CutSuffix(f.Name, " stderr")
	code := 0
	if i := strings.Index(name, " (exit "); i >= 0 {
		if _, err := fmt.Sscanf(name[i:], " (exit %d)", &code); err != nil {
			t.Fatal(err)
		}
		name = name[:i]
	}
	out := outputs[name]
	if isErr {
		out.Stderr = string(f.Data)
	} else {
		out.Stdout, out.Code = string(f.Data), code
	}
	outputs[name] = out
}

// Section returns a section of a case with this name and text.
func Section(name, text string) txtar.File {
	return txtar.File{Name: name, Data: []byte(strings.TrimRight(text, "\n") + "\n")}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

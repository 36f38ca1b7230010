package modules

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata expect")

// A case is a txtar file: "desired" is JSON; a section with the name of a
// command is its output, "NAME (exit 1)" with that status, "NAME stderr" on
// standard error. "record" is the record on the host, "rejected before" has
// digests that failed before, "pool" is JSON. Sections that begin with "want"
// are the results of the module, for a host of an etcd cluster if "cluster" is
// present.
func TestCases(t *testing.T) {
	for _, m := range All() {
		paths, err := filepath.Glob(filepath.Join("testdata", m.Name(), "*.txtar"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no cases of %s (%v)", m.Name(), err)
		}
		for _, path := range paths {
			t.Run(filepath.ToSlash(strings.TrimPrefix(path, "testdata")), func(t *testing.T) {
				archive, err := txtar.ParseFile(path)
				if err != nil {
					t.Fatal(err)
				}
				var input []txtar.File
				for _, f := range archive.Files {
					if !strings.HasPrefix(f.Name, "want") {
						input = append(input, f)
					}
				}
				got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: append(input, results(t, m, input)...)})
				if *update {
					if err := os.WriteFile(path, got, 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				if want := txtar.Format(archive); !bytes.Equal(got, want) {
					t.Errorf("got:\n%s", got)
				}
			})
		}
	}
}

// planned has the results of a module for a case.
type planned struct {
	desired engine.Desired
	facts   engine.Facts
	changes []engine.Change
	steps   engine.Steps
	err     error // of comparing
}

func planCase(t *testing.T, m engine.Module, input []txtar.File) planned {
	t.Helper()
	var desired engine.Desired
	outputs := engine.Outputs{}
	facts := engine.Facts{BootID: boot}
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
			facts.Config = &engine.ConfigFacts{}
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
	for _, c := range m.Probe(desired) {
		known[c.Name] = true
	}
	for name := range outputs {
		if !known[name] {
			t.Fatalf("%q is no command of %s", name, m.Name())
		}
	}
	facts = m.Read(desired, outputs, facts)
	p := planned{desired: desired, facts: facts}
	if p.changes, p.err = m.Diff(desired, facts); p.err == nil {
		p.steps = m.Steps(engine.Target{Host: host, Pool: pool, Desired: desired, Facts: facts, Run: "r1"}, p.changes)
	}
	return p
}

func results(t *testing.T, m engine.Module, input []txtar.File) []txtar.File {
	t.Helper()
	p := planCase(t, m, input)
	files := []txtar.File{section("want facts", toJSON(t, p.facts))}
	if p.err != nil {
		return append(files, section("want error", p.err.Error()))
	}
	return append(files, section("want changes", toJSON(t, p.changes)), section("want steps", list(p.steps)))
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

func section(name, text string) txtar.File {
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

// list writes steps with the variables of their scripts. Other tests run the
// scripts.
func list(steps engine.Steps) string {
	var b strings.Builder
	for _, s := range slices.Concat(steps.Stage, steps.Write, steps.Reboot, steps.Rollback) {
		fmt.Fprintf(&b, "%s on %s within %s, breaks the connection: %v\n", s.Name, s.On, s.Timeout, s.Reboots)
		if s.Do.AwaitBoot != nil {
			fmt.Fprintf(&b, "\tnot %s, but %s\n", cmp.Or(s.Do.AwaitBoot.BootID, "the boot it is in"), s.Do.AwaitBoot.Digest)
			continue
		}
		for line := range strings.Lines(s.Do.Exec.Script) {
			line = strings.TrimPrefix(line, "job='")
			name, _, ok := strings.Cut(line, "=")
			if strings.HasPrefix(line, "#") {
				break
			}
			if strings.HasPrefix(line, "set -- ") || ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
				b.WriteString("\t" + line)
			}
		}
	}
	for _, part := range []struct {
		name  string
		steps []engine.Step
	}{{"act", steps.Act}, {"record", steps.Record}, {"instead, if quiet", steps.NonDisruptive}} {
		for _, s := range part.steps {
			fmt.Fprintf(&b, "%s: %s within %s, a reboot stands in for it: %v\n", part.name, s.Name, s.Timeout, s.Do.Exec.Fallback)
		}
	}
	if len(steps.StoppedServices) > 0 {
		fmt.Fprintf(&b, "not waited for: %s\n", strings.Join(steps.StoppedServices, ", "))
	}
	return b.String()
}

package modules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
)

// A case is a txtar file: "play", "desired" and "facts" are JSON; "cluster"
// names the cluster of the host. Sections that begin with "want" are the
// results of the modules of the play.
func TestTasks(t *testing.T) {
	paths, err := filepath.Glob("testdata/task/*.txtar")
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d cases (%v)", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
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
			got := txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: append(input, taskResults(t, input)...)})
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if want := txtar.Format(archive); !bytes.Equal(got, want) {
				t.Errorf("got:\n%s", got)
			}
		})
	}
}

func taskResults(t *testing.T, input []txtar.File) []txtar.File {
	t.Helper()
	play, to := engine.Play{}, target(engine.Desired{}, engine.Facts{Host: "w-1", BootID: boot})
	for _, f := range input {
		into := map[string]any{"play": &play, "desired": &to.Desired, "facts": &to.Facts}[f.Name]
		switch {
		case f.Name == "cluster":
			to.Host.Cluster = strings.TrimSpace(string(f.Data))
			to.Cluster = &engine.Cluster{Name: to.Host.Cluster}
		case f.Name == "finished":
			to.Facts.Finished = true
		default:
			d := json.NewDecoder(bytes.NewReader(f.Data))
			d.DisallowUnknownFields()
			if err := d.Decode(into); err != nil {
				t.Fatalf("%s: %v", f.Name, err)
			}
		}
	}
	changes, steps, err := describePlay(play, to)
	if err != nil {
		return []txtar.File{section("want error", err.Error())}
	}
	return []txtar.File{section("want changes", changes), section("want steps", steps)}
}

// describePlay writes the changes and steps of all modules of a play, in the
// order in which a host is changed.
func describePlay(play engine.Play, to engine.Target) (changes, steps string, err error) {
	var c strings.Builder
	parts := map[string]*strings.Builder{}
	names := []string{"stage", "before", "write", "act", "reboot", "record", "after", "quiet"}
	for _, name := range names {
		parts[name] = &strings.Builder{}
	}
	show := func(name string, list []engine.Step) {
		for _, s := range list {
			parts[name].WriteString(name + ": " + showStep(s))
		}
	}
	found := 0
	for _, m := range ForPlay(play) {
		list, err := m.Diff(to.Desired, to.Facts)
		if err != nil {
			return "", "", err
		}
		for _, x := range list {
			fmt.Fprintf(&c, "%s: %s: %q → %q %v (%s)\n", x.Module, x.Resource, x.Before, x.After, x.Actions, x.Rule)
			if strings.HasPrefix(x.Rule, "playbook: ") && x.Why != "" {
				c.WriteString("\t" + x.Why + "\n")
			}
		}
		if len(list) == 0 {
			continue
		}
		found += len(list)
		s := m.Steps(to, list)
		show("stage", s.Stage)
		show("write", s.Write)
		show("act", s.Act)
		show("reboot", s.Reboot)
		show("record", s.Record)
		show("quiet", s.NonDisruptive)
	}
	for _, m := range ForPlay(play) {
		if a, ok := m.(engine.TaskModule); ok && found > 0 {
			before, after := a.TasksAround(to)
			show("before", before)
			show("after", after)
		}
	}
	var all strings.Builder
	for _, name := range names {
		all.WriteString(parts[name].String())
	}
	return c.String(), all.String(), nil
}

func showStep(s engine.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s within %s", s.Name, s.On, s.Timeout)
	if s.ChangesHost {
		b.WriteString(", disturbs")
	}
	if s.Do.Exec == nil {
		do, err := json.Marshal(s.Do)
		if err != nil {
			panic(err)
		}
		return b.String() + "\n\t" + string(do) + "\n"
	}
	if strings.Contains(s.Do.Exec.Script, "not held by this run") {
		b.WriteString(", needs the hold")
	}
	b.WriteString("\n")
	for line := range strings.Lines(s.Do.Exec.Script) {
		if strings.HasPrefix(line, "#") {
			break
		}
		name, _, ok := strings.Cut(line, "=")
		if ok && name != "hold" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
			b.WriteString("\t" + line)
		}
	}
	return b.String()
}

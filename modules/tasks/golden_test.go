package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// TestTasks runs the cases in testdata. In a case, "play", "desired" and "facts"
// are JSON. "cluster" names the cluster of the host. The expected results are
// those of all modules of the play.
func TestTasks(t *testing.T) { moduletest.RunCases(t, taskResults) }

func taskResults(t *testing.T, input []txtar.File) []txtar.File {
	t.Helper()
	play, to := engine.Play{}, moduletest.Target(engine.Desired{}, engine.Facts{Host: "w-1", BootID: moduletest.Boot})
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
		return []txtar.File{moduletest.Section("want error", err.Error())}
	}
	return []txtar.File{moduletest.Section("want changes", changes), moduletest.Section("want steps", steps)}
}

// describePlay returns the changes and steps of all modules of a play, in the
// order in which they change a host.
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
		if m.Changes == nil {
			continue
		}
		d, err := m.Changes.Diff(to.Desired, to.Facts)
		if err != nil {
			return "", "", err
		}
		list := d.Changes
		for _, x := range list {
			fmt.Fprintf(&c, "%s: %s: %q → %q %v (%s)\n", x.Module, x.Resource, x.Before, x.After, x.Actions, x.Rule)
			if strings.HasPrefix(x.Rule, "playbook: ") && x.Reason != "" {
				c.WriteString("\t" + x.Reason + "\n")
			}
		}
		if len(list) == 0 {
			continue
		}
		found += len(list)
		s := d.Steps(to, list)
		show("stage", s.Stage)
		show("write", s.Write)
		show("act", s.Act)
		show("reboot", s.Reboot)
		show("record", s.Record)
		show("quiet", s.NonDisruptive)
	}
	for _, m := range ForPlay(play) {
		if m.Tasks != nil && found > 0 {
			before, after := m.Tasks.TasksAround(to)
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
		b.WriteString(", changes the host")
	}
	if s.Do.Exec == nil {
		do, err := json.Marshal(s.Do)
		if err != nil {
			panic(err)
		}
		return b.String() + "\n\t" + string(do) + "\n"
	}
	script := moduletest.ShortenHoldCheck(s.Do.Exec.Script.String())
	if strings.Contains(script, "holdmust=yes\n") {
		b.WriteString(", needs the hold")
	}
	b.WriteString("\n")
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "#") {
			break
		}
		name, _, ok := strings.Cut(line, "=")
		if ok && !strings.HasPrefix(name, "hold") && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
			b.WriteString("\t" + line)
		}
	}
	return b.String()
}

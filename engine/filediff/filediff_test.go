package filediff

import (
	"context"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
)

// TestPlanContents checks which contents are shown, and that only files that
// are shown are read.
func TestPlanContents(t *testing.T) {
	mode := 0o600
	files := map[string][2]string{"/etc/a": {"old", "new"}, "/etc/gone": {"old", "new"}, "/etc/key": {"old", "t0ken"}}
	facts := engine.Facts{Host: "h", Config: &resource.ConfigFacts{Nodes: map[string]resource.PathFacts{}}}
	desired := engine.Desired{Config: &resource.Config{}, Contents: map[string][]byte{}}
	var changes []engine.Change
	for _, path := range []string{"/etc/a", "/etc/gone", "/etc/key", "/etc/private"} {
		was, is := files[path][0], files[path][1]
		f := resource.File{Path: path, Digest: resource.Digest([]byte(is))}
		if path == "/etc/private" {
			f.Mode = &mode
		}
		facts.Config.Nodes[path] = resource.PathFacts{Type: resource.PathFile, Digest: resource.Digest([]byte(was)), Mode: 0o644}
		if path == "/etc/private" {
			facts.Config.Nodes[path] = resource.PathFacts{Type: resource.PathFile, Digest: "other", Mode: 0o600}
		}
		desired.Config.Files = append(desired.Config.Files, f)
		desired.Contents[f.Digest] = []byte(is)
		changes = append(changes, engine.Change{Module: "config", Kind: engine.FileKind, Resource: "file " + path})
	}
	var read []string
	src := Source{
		Facts: map[string]engine.Facts{"h": facts}, Desired: map[string]engine.Desired{"h": desired}, Sensitive: []string{"t0ken"}, Forks: 1,
		Run: func(_ context.Context, _ string, commands []engine.Command) (engine.Outputs, error) {
			out := engine.Outputs{}
			for _, c := range commands {
				read = append(read, c.Name)
				out[c.Name] = engine.Output{Stdout: files[c.Name][0]}
			}
			out["/etc/gone"] = engine.Output{Stdout: "replaced meanwhile"}
			return out, nil
		},
	}
	list, err := src.PlanContents(t.Context(), engine.Plan{Hosts: []engine.HostPlan{{Host: "h", Changes: changes}}})
	if err != nil || len(list) != 4 {
		t.Fatalf("%v %+v", err, list)
	}
	if a := list[0]; string(a.Old) != "old" || string(a.New) != "new" || a.Withheld != "" {
		t.Errorf("%+v", a)
	}
	if list[1].Withheld != "changed since it was read" || list[2].Withheld == "" || list[3].Withheld == "" {
		t.Errorf("%+v", list[1:])
	}
	if got := strings.Join(read, " "); got != "/etc/a /etc/gone" {
		t.Errorf("read %s", got)
	}
}

// TestConfigContents checks that a file that changes is shown with its old and
// new contents, and that the contents of a private file are withheld.
func TestConfigContents(t *testing.T) {
	mode := 0o600
	config := func(text string) resource.Config {
		return resource.Config{Files: []resource.File{{Path: "/etc/a", Contents: []byte(text)}, {Path: "/etc/p", Mode: &mode, Contents: []byte(text)}, {Path: "/etc/same", Contents: []byte("same")}}}
	}
	var d rules.Diff
	for _, name := range []string{"/etc/a", "/etc/p", "/etc/same"} {
		d.Changes = append(d.Changes, rules.Change{Kind: engine.FileKind, Name: name})
	}
	list := ConfigContents(config("old"), config("new"), d)
	if len(list) != 2 || string(list[0].Old) != "old" || string(list[0].New) != "new" || list[0].Withheld != "" || list[1].Withheld == "" {
		t.Errorf("%+v", list)
	}
}

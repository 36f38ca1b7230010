package ansible

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine/longtest"
)

var update = flag.Bool("update", false, "record the answers of ansible-inventory")

// answer is the part of the output of ansible-inventory --list that is
// compared: the hosts of each group, the groups in it, and the variables of
// each host. Values that are not read are null.
type answer struct {
	Groups    map[string]answerGroup        `json:"groups"`
	Variables map[string]map[string]*string `json:"variables"`
}

type answerGroup struct {
	Hosts    []string `json:"hosts,omitempty"`
	Children []string `json:"children,omitempty"`
}

// TestAgreesWithAnsible compares what this package reads with the recorded
// answers of Ansible, for inventories in the forms that its manual shows. The
// slow tests also ask Ansible again, where it is installed.
func TestAgreesWithAnsible(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) < 20 {
		t.Fatal(len(paths), err)
	}
	for _, p := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(p)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := txtar.Write(archive, dir); err != nil {
				t.Fatal(err)
			}
			file := archive.Files[0].Name
			inv, err := Read(Source{FS: os.DirFS(dir), Name: file})
			if err != nil {
				t.Fatal(err)
			}
			got := encodeAnswer(t, summarize(inv))
			recorded := archive.Files[len(archive.Files)-1]
			if *update || longtest.Slow() {
				if _, err := exec.LookPath("ansible-inventory"); err == nil {
					asked := encodeAnswer(t, askAnsible(t, filepath.Join(dir, file)))
					if *update {
						archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "answer.json" })
						recorded = txtar.File{Name: "answer.json", Data: []byte(asked)}
						archive.Files = append(archive.Files, recorded)
						if err := os.WriteFile(p, txtar.Format(archive), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					if asked != string(recorded.Data) {
						t.Errorf("Ansible answers now\n%s\nand not, as recorded,\n%s", asked, recorded.Data)
					}
				} else if *update {
					t.Fatal(err)
				}
			}
			if got != string(recorded.Data) {
				t.Errorf("read\n%s\nAnsible reads\n%s", got, recorded.Data)
			}
		})
	}
}

func encodeAnswer(t *testing.T, a answer) string {
	t.Helper()
	text, err := json.MarshalIndent(a, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func summarize(inv Inventory) answer {
	a := answer{map[string]answerGroup{}, map[string]map[string]*string{}}
	for _, g := range inv.Groups {
		hosts := slices.DeleteFunc(slices.Clone(g.Hosts), func(string) bool { return g.Name == "all" || g.Name == "ungrouped" })
		a.add(g.Name, hosts, g.Children)
	}
	for _, h := range inv.Hosts {
		vars := map[string]*string{}
		for name, v := range h.Variables {
			vars[name] = nil
			if v.Kind == Text || v.Kind == Number || v.Kind == Boolean || v.Kind == Template {
				vars[name] = &v.Text
			}
		}
		if len(vars) > 0 {
			a.Variables[h.Name] = vars
		}
	}
	return a
}

func (a answer) add(name string, hosts, children []string) {
	if name == "all" || name == "ungrouped" || len(hosts)+len(children) == 0 {
		return // Ansible lists no empty groups
	}
	hosts, children = slices.Clone(hosts), slices.Clone(children)
	slices.Sort(hosts)
	slices.Sort(children)
	a.Groups[name] = answerGroup{hosts, children}
}

func askAnsible(t *testing.T, file string) answer {
	t.Helper()
	cmd := exec.Command("ansible-inventory", "-i", file, "--list")
	config := filepath.Join(t.TempDir(), "ansible.cfg")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "ANSIBLE_CONFIG="+config, "HOME="+path.Dir(file), "LC_ALL=C.UTF-8")
	cmd.Dir = path.Dir(file)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	a := answer{map[string]answerGroup{}, map[string]map[string]*string{}}
	var meta struct {
		Hostvars map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(all["_meta"], &meta); err != nil {
		t.Fatal(err)
	}
	delete(all, "_meta")
	for name, text := range all {
		var g struct{ Hosts, Children []string }
		if err := json.Unmarshal(text, &g); err != nil {
			t.Fatal(err)
		}
		a.add(name, g.Hosts, g.Children)
	}
	for name, vars := range meta.Hostvars {
		a.Variables[name] = map[string]*string{}
		for _, key := range slices.Sorted(maps.Keys(vars)) {
			a.Variables[name][key] = plainValue(vars[key])
		}
	}
	return a
}

// plainValue returns the text of a value, or nil if it is an object, a list or null.
func plainValue(raw json.RawMessage) *string {
	var text string
	if json.Unmarshal(raw, &text) == nil && raw[0] == '"' {
		return &text
	}
	var unsafe map[string]string
	if text = string(raw); text == "null" || raw[0] == '[' {
		return nil
	}
	if raw[0] == '{' {
		if json.Unmarshal(raw, &unsafe) != nil || unsafe["__ansible_unsafe"] == "" {
			return nil
		}
		text = unsafe["__ansible_unsafe"]
	}
	return &text
}

package playbook_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
	"holdfast/engine/playbook"
)

var update = flag.Bool("update", false, "write testdata, the schema and the generated part of docs/playbooks.md")

// testHosts returns a sample of an inventory: an etcd cluster of three, and
// six workers in two zones.
func testHosts() []engine.Host {
	var hosts []engine.Host
	for i := range 3 {
		hosts = append(hosts, engine.Host{Name: fmt.Sprintf("etcd-%d", i), Address: fmt.Sprintf("10.0.0.1%d", i), Pool: "etcd", Cluster: "main"})
	}
	for i := range 6 {
		zone := "rack-a"
		if i >= 3 {
			zone = "rack-b"
		}
		hosts = append(hosts, engine.Host{Name: fmt.Sprintf("worker-%02d", i+1), Address: fmt.Sprintf("10.0.1.%d", i+1), Pool: "worker", Zone: zone})
	}
	return hosts
}

// loadText loads a text as the file p.yaml.
func loadText(text string, opts playbook.Options) (engine.Playbook, error) {
	if opts.Hosts == nil {
		opts.Hosts = testHosts()
	}
	return playbook.Load(fstest.MapFS{"p.yaml": {Data: []byte(text)}}, "p.yaml", opts)
}

// TestCases loads the playbooks of each archive. NAME.yaml is a playbook, and
// NAME.want is the expected result or error.
func TestCases(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fresh := &txtar.Archive{Comment: archive.Comment}
		for i, f := range archive.Files {
			name, ok := strings.CutSuffix(f.Name, ".yaml")
			if !ok {
				continue
			}
			want := ""
			if i+1 < len(archive.Files) && archive.Files[i+1].Name == name+".want" {
				want = string(archive.Files[i+1].Data)
			}
			got := formatResult(loadText(string(f.Data), parseOptions(string(f.Data))))
			if got != want && !*update {
				t.Errorf("%s: %s:\n%s\nwant:\n%s", file, name, got, want)
			}
			fresh.Files = append(fresh.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(fresh), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// parseOptions reads flags from a first line such as # --tags a --var x=1.
func parseOptions(text string) playbook.Options {
	opts := playbook.Options{Vars: map[string]string{}}
	first, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(first)
	for i := 0; i+1 < len(words); i++ {
		switch words[i] {
		case "--tags":
			opts.Tags = append(opts.Tags, words[i+1])
		case "--skip-tags":
			opts.SkipTags = append(opts.SkipTags, words[i+1])
		case "--var":
			name, value, _ := strings.Cut(words[i+1], "=")
			opts.Vars[name] = value
		}
	}
	return opts
}

// formatResult formats a loaded playbook or its errors.
func formatResult(book engine.Playbook, err error) string {
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, p := range book.Plays {
		fmt.Fprintf(&b, "line %d: %s: hosts %s", p.Line, p.Name, p.Hosts)
		for _, s := range p.Serial {
			fmt.Fprintf(&b, ", serial %s", s)
		}
		if p.MaxFailPercentage != nil {
			fmt.Fprintf(&b, ", max fail %d%%", p.MaxFailPercentage.Percent)
		}
		if p.Order != "" {
			fmt.Fprintf(&b, ", order %s", p.Order)
		}
		if p.AnyErrorsFatal {
			b.WriteString(", any errors fatal")
		}
		b.WriteString("\n")
		for _, list := range []struct {
			name  string
			tasks []engine.Task
		}{{"before", p.PreTasks}, {"do", p.Tasks}, {"after", p.PostTasks}} {
			for _, t := range list.tasks {
				fmt.Fprintf(&b, "  %s (line %d): %s: %s %s", list.name, t.Line, t.Name, t.Module, formatArguments(t))
				if len(t.Skip) > 0 {
					var skipped []string
					for h := range t.Skip {
						skipped = append(skipped, h)
					}
					slices.Sort(skipped)
					fmt.Fprintf(&b, " not on %s", strings.Join(skipped, " "))
				}
				b.WriteString("\n")
			}
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

func formatArguments(t engine.Task) string {
	var x any
	switch {
	case t.Command != nil:
		x = t.Command
	case t.Service != nil:
		x = t.Service
	case t.WaitFor != nil:
		x = t.WaitFor
	case t.Pause != nil:
		x = t.Pause
	default:
		return ""
	}
	out, err := json.Marshal(x)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// TestFileCannotBeRead: the error names the file and the cause, and is not an
// *Errors.
func TestFileCannotBeRead(t *testing.T) {
	for file, fsys := range map[string]fstest.MapFS{
		"none.yaml": {}, "dir": {"dir/x.yaml": {Data: []byte("")}},
	} {
		_, err := playbook.Load(fsys, file, playbook.Options{Name: "/srv/" + file})
		var mistakes *playbook.Errors
		if err == nil || errors.As(err, &mistakes) || !strings.HasPrefix(err.Error(), "read playbook /srv/"+file+": ") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestBounds: huge, deep or self-containing inputs quickly fail with one clear
// error.
func TestBounds(t *testing.T) {
	laughs := "- &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'i'; c++ {
		laughs += fmt.Sprintf("- &%c [%s]\n", c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	long := "- hosts: all\n  tasks:\n    - stage:\n      when: " + strings.Repeat("!", 5000) + "true\n"
	long = strings.Replace(long, "when: ", "when: true || ", 1)
	for text, want := range map[string]string{
		long:                                 "when is longer than 4096 bytes",
		laughs:                               "the file has more than 100000 values, including those that aliases repeat",
		strings.Repeat("# comment\n", 1<<17): "the file is larger than 1024 KiB",
		strings.Repeat("[", 5000):            "p.yaml:1:1: this is not YAML",
		"- " + strings.Repeat("[", 40) + strings.Repeat("]", 40): "nested more than 32 deep",
		"- &a [*a]\n":                                         "contains itself",
		"- hosts: all\n  tasks: &t\n  - *t\n":                 "contains itself",
		"\xef\xbb\xbf- hosts: all\n":                          "p.yaml:1:1: the file begins with a byte order mark",
		"\xff\xfe-\x00":                                       "the file is UTF-16",
		"- hosts: all\n  name: \xe9\n":                        "p.yaml:2:1: the line is not UTF-8",
		"- hosts: all\n  tasks: [stage]\n---\n- hosts: all\n": "a second YAML document",
		"":                             "the file has no plays",
		"# nothing\n":                  "the file has no plays",
		"---\n":                        "a playbook is a list of plays",
		"hosts: all\ntasks: [stage]\n": "a playbook is a list of plays",
	} {
		_, err := loadText(text, playbook.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "p.yaml") != 1 {
			t.Errorf("%.40q: %v; want %q once", text, err, want)
		}
	}
}

// TestLengthOfUnitNames: with its suffix a name has at most 255 bytes.
func TestLengthOfUnitNames(t *testing.T) {
	for n, refused := range map[int]bool{247: false, 248: true} {
		_, err := loadText("- hosts: all\n  tasks:\n    - service: {state: restarted, name: "+strings.Repeat("a", n)+"}\n", playbook.Options{Hosts: testHosts()})
		if got := err != nil && strings.Contains(err.Error(), "is not the name of a unit"); got != refused || err != nil && !refused {
			t.Errorf("%d letters: %v", n, err)
		}
	}
}

// TestVariables: Variables lists names also for a file with errors.
func TestVariables(t *testing.T) {
	text := "- hosts: all\n  vars: {b: 1, a: }\n  tasks: [stage]\n- vars: {a: 2, c: x}\n"
	got := playbook.Variables(fstest.MapFS{"p.yaml": {Data: []byte(text)}}, "p.yaml")
	if !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Errorf("%q", got)
	}
	if got := playbook.Variables(fstest.MapFS{}, "p.yaml"); got != nil {
		t.Errorf("%q of no file", got)
	}
}

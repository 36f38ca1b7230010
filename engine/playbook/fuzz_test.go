package playbook_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostpattern"
	"holdfast/engine/playbook"
)

// placed matches an error message with its optional position.
var placed = regexp.MustCompile(`^p\.yaml:([0-9]+:[0-9]+:)? [^\n]+; [^\n]+`)

// FuzzLoad checks that Load terminates for any text, and returns either valid
// plays or errors with positions.
func FuzzLoad(f *testing.F) {
	for _, text := range collectPlaybooks(f) {
		f.Add(text)
	}
	f.Add("- hosts: &a [*a]\n  tasks: {<<: *a}\n")
	f.Add("- hosts: all\n  tasks:\n  - when: ${\"${\n")
	f.Add("- hosts: all\n  vars: {a: \"${var.a\"}\n  tasks:\n  - command: |2+\n     $${x}\n")
	f.Add("? - a\n: b # c\n\n# d\n- e\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 {
			return
		}
		book, err := loadText(text, playbook.Options{Vars: map[string]string{"a": "x", "n": "7"}})
		if err == nil {
			checkPlays(t, book)
			return
		}
		var mistakes *playbook.Errors
		if !errors.As(err, &mistakes) || mistakes.Len() == 0 {
			t.Fatalf("no list of mistakes: %v", err)
		}
		for mistake := range strings.SplitSeq(err.Error(), "\n\n") {
			if !placed.MatchString(mistake) {
				t.Fatalf("a mistake without a place or advice: %q", mistake)
			}
		}
	})
}

// checkPlays checks the guarantees that the planner relies on.
func checkPlays(t *testing.T, book engine.Playbook) {
	if len(book.Plays) == 0 {
		t.Fatal("no plays")
	}
	for _, p := range book.Plays {
		if _, err := hostpattern.Parse(p.Hosts, engine.Inventory{Hosts: testHosts()}); err != nil {
			t.Fatal(err)
		}
		if p.Name == "" || strings.Contains(p.Name, "\n") || len(p.Tasks) == 0 || p.Line < 1 {
			t.Fatalf("not a play: %+v", p)
		}
		for _, l := range p.Serial {
			if !l.Set || (l.Count > 0) == (l.Percent > 0) {
				t.Fatalf("not a limit: %+v", l)
			}
		}
		for _, task := range append(append(p.PreTasks, p.Tasks...), p.PostTasks...) {
			arguments := 0
			for _, set := range []bool{task.Command != nil, task.Service != nil, task.WaitFor != nil, task.Pause != nil} {
				if set {
					arguments++
				}
			}
			plain := map[string]bool{"stage": true, "config": true, "finalize": true, "reboot": true, "etcd_snapshot": true, "etcd_defrag": true}[task.Module]
			if task.Name == "" || strings.Contains(task.Name, "\n") || task.Line < 1 || plain == (arguments == 1) || arguments > 1 {
				t.Fatalf("not a task: %+v", task)
			}
		}
	}
}

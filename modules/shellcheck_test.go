package modules

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"holdfast/engine"
	"holdfast/engine/shelltest"
)

// TestShellcheck checks the scripts of every step and probe as hosts are sent
// them: of each driver and step, the one of the first case.
func TestShellcheck(t *testing.T) {
	for name, script := range scriptsOfCases(t) {
		t.Run(name, func(t *testing.T) { shelltest.Check(t, name, script) })
	}
}

func scriptsOfCases(t *testing.T) map[string]string {
	scripts := map[string]string{}
	add := func(name, script string) {
		if scripts[name] == "" {
			scripts[name] = script
		}
	}
	for _, m := range All() {
		paths, err := filepath.Glob(filepath.Join("testdata", m.Name(), "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			input := slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return strings.HasPrefix(f.Name, "want") })
			p := planCase(t, m, input)
			for _, c := range m.Probe(p.desired) {
				add(m.Name()+" probe "+c.Name, c.Script)
			}
			driver := ""
			if p.facts.Tool != "" {
				driver = strings.Fields(p.facts.Tool)[0]
			}
			for _, s := range stepsOf(p.steps) {
				if s.Do.Exec != nil {
					add(strings.Join([]string{m.Name(), driver, s.Name}, " "), s.Do.Exec.Script)
				}
			}
		}
	}
	return scripts
}

func stepsOf(s engine.Steps) []engine.Step {
	return slices.Concat(s.Stage, s.Write, s.Act, s.Reboot, s.Record, s.Rollback, s.Before, s.After, s.NonDisruptive)
}

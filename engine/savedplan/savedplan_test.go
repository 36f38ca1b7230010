package savedplan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
)

// planWith returns a plan whose only setting has this text.
func planWith(text string) engine.Plan {
	return engine.Plan{Schema: engine.PlanSchema, Settings: map[string]string{"gate": text}}
}

// TestSavedPlanHasNoSecret checks that the file has a seal in place of a
// secret, and that the seal matches only the same secret.
func TestSavedPlanHasNoSecret(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan")
	sensitive := []string{"t0ken", "0ther"}
	plan := planWith("check t0ken")
	if err := Save(path, plan, nil, sensitive); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "t0ken") {
		t.Errorf("%v: %s", err, text)
	}
	saved, err := Read(path, os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkSecrets(plan, saved, sensitive); err != nil {
		t.Error(err)
	}
	for _, other := range []engine.Plan{planWith("check 0ther"), planWith("check")} {
		if err := checkSecrets(other, saved, sensitive); err == nil {
			t.Errorf("a changed secret was not noticed: %+v", other)
		}
	}
	if err := checkSecrets(planWith("check"), planWith("check"), sensitive); err != nil {
		t.Error(err)
	}
}

// TestReadRefusesManyValues checks that a short file that would need much memory is refused
// before anything reads its values, and that strings count as one value.
func TestReadRefusesManyValues(t *testing.T) {
	many := `{"schema":1,"hosts":[` + strings.Repeat(`{},`, maxValues/2) + `{}]}`
	if _, err := Read("x", func(string) ([]byte, error) { return []byte(many), nil }); err == nil || !strings.Contains(err.Error(), "values, and a plan may have") {
		t.Error(err)
	}
	long := `{"schema":1,"warnings":["` + strings.Repeat(`\",[{`, maxValues/2) + `"]}`
	if p, err := Read("x", func(string) ([]byte, error) { return []byte(long), nil }); err != nil || len(p.Warnings) != 1 {
		t.Error(err)
	}
}

// TestReadRefuses checks the errors about files that are not saved plans.
func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{"x": "it is not a plan saved by holdfast plan --out", `{"schema": 0}`: "it has schema 0, this version knows"} {
		path := filepath.Join(t.TempDir(), "plan")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path, os.ReadFile); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestCheckWithoutWork checks that a plan without work is the same as a saved plan only if the hosts still have the aims of the saved
// plan, and if no task can have another secret.
func TestCheckWithoutWork(t *testing.T) {
	desired := func(commit string) map[string]engine.Desired {
		return map[string]engine.Desired{"w-1": {OS: &engine.OS{Commit: commit}}}
	}
	change := engine.Change{Kind: engine.OSKind, Resource: "os", Before: "1", After: "2"}
	for name, c := range map[string]struct {
		commit, task string
		says         string
	}{
		"carried out":        {"2", "true", ""},
		"another OS":         {"1", "true", "w-1: os 1 → 2 is in the saved plan, but not in the new plan"},
		"a task with secret": {"2", "login t0ken", "a task has a secret, which may have changed"},
	} {
		plan := engine.Plan{Schema: engine.PlanSchema, Play: "p", Settings: map[string]string{"play p: task 1": c.task}}
		path := filepath.Join(t.TempDir(), "plan")
		work := plan
		work.Hosts = []engine.HostPlan{{Host: "w-1", Changes: []engine.Change{change}}}
		if err := Save(path, work, desired("2"), []string{"t0ken"}); err != nil {
			t.Fatal(err)
		}
		saved, err := Read(path, os.ReadFile)
		if err != nil {
			t.Fatal(err)
		}
		plan.Matching = []string{"w-1"}
		if err := Check(plan, saved, desired(c.commit), []string{"t0ken"}); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

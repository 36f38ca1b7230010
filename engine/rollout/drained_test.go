package rollout

import (
	"strings"
	"testing"

	"holdfast/engine"
)

// TestDrainsOfALostHostAreNamed: a person who takes a host from a run must learn each command that has changed it, also one that
// nothing undoes.
func TestDrainsOfALostHostAreNamed(t *testing.T) {
	drain := func(command, undo string) engine.Step {
		s := engine.Step{Name: "drain", ChangesHost: true, Do: engine.Op{Command: &engine.Local{Command: command}}}
		if undo != "" {
			s.Undo = &engine.Step{Name: "undo drain", Do: engine.Op{Command: &engine.Local{Command: undo}}}
		}
		return s
	}
	undrain := engine.Step{Name: "undrain", ChangesHost: true, Do: engine.Op{Command: &engine.Local{Command: "up"}}}
	lost := &engine.Failure{Kind: engine.UnreachableFailure}
	for name, c := range map[string]struct {
		steps    []engine.Step
		failures []*engine.Failure
		says     string
	}{
		"with an undo":      {[]engine.Step{drain("down", "up")}, []*engine.Failure{nil}, "drain was done or begun, and was not undone; when the host may work again, run: up"},
		"its answer lost":   {[]engine.Step{drain("down", "up")}, []*engine.Failure{lost}, "run: up"},
		"undone":            {[]engine.Step{drain("down", "up"), undrain}, []*engine.Failure{nil, nil}, ""},
		"undo failed":       {[]engine.Step{drain("down", "up"), undrain}, []*engine.Failure{nil, lost}, "run: up"},
		"without an undo":   {[]engine.Step{drain("down", "")}, []*engine.Failure{nil}, "drain was done or begun, and has no undo"},
		"a script in place": {[]engine.Step{{Name: "write", ChangesHost: true, Do: engine.Op{Exec: &engine.Exec{}}}}, []*engine.Failure{nil}, ""},
	} {
		var q sequenceState
		for i, s := range c.steps {
			q.noteStep(s, c.failures[i])
		}
		if got := q.describeDrained(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) || strings.Count(got, "was done") > 1 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

package modules

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// script is a shell script with variables and arguments. job, another script
// for a transient unit, becomes a variable, too.
type script struct {
	vars map[string]string
	args []string
	job  string
	text string
}

// String returns the whole script, with every value quoted.
func (s script) String() string {
	names := make([]string, 0, len(s.vars))
	for name := range s.vars {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, name := range names {
		b.WriteString(name + "=" + hostscript.Quote(s.vars[name]) + "\n")
	}
	if len(s.args) > 0 {
		b.WriteString("set --")
		for _, a := range s.args {
			b.WriteString(" " + hostscript.Quote(a))
		}
		b.WriteString("\n")
	}
	if s.job != "" {
		b.WriteString("job=" + hostscript.Quote(s.job) + "\n")
	}
	return b.String() + s.text
}

// strict begins scripts that end at the first command that fails.
const strict = "set -eu\n"

// allowedHolders returns the runs that may hold a host during a non-disruptive
// change: this run, and a run whose hold it adopts.
func allowedHolders(t engine.Target) []engine.HoldOwner {
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		return []engine.HoldOwner{t.Owner(), h.Owner()}
	}
	return []engine.HoldOwner{t.Owner()}
}

// hostStep returns a step that runs a script on the host.
func hostStep(t engine.Target, name, text string, timeout engine.Duration) engine.Step {
	return engine.Step{Name: name, On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: text}}, Timeout: timeout}
}

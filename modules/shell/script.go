package shell

import (
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
)

// Script is a shell script with variables and arguments. Its Job is another
// script. Job becomes the value of the variable job, so that Text can run it in a
// transient unit or as another user.
type Script struct {
	Vars map[string]string
	Args []string
	Boot resource.BootID // "", or a boot that becomes the value of the variable boot
	Job  engine.Script
	Text engine.Script
}

// Text returns a script of texts that are the same on all hosts.
func Text(texts ...*engine.SharedText) engine.Script {
	s := make(engine.Script, len(texts))
	for i, t := range texts {
		s[i].Text = t
	}
	return s
}

// String returns the whole script, with quoted values.
func (s Script) String() string { return s.Build().String() }

// Build returns the script with quoted values in front of its text.
func (s Script) Build() engine.Script {
	names := slices.Collect(maps.Keys(s.Vars))
	if s.Boot != "" {
		names = append(names, bootVar)
	}
	slices.Sort(names)
	script := make(engine.Script, 0, len(s.Text)+4)
	var values [][2]string
	for _, name := range names {
		if name == bootVar && s.Boot != "" {
			script = append(script, engine.ScriptPart{Values: hostscript.Assign(values)}, engine.ScriptPart{Boot: s.Boot})
			values = nil
			continue
		}
		values = append(values, [2]string{name, s.Vars[name]})
	}
	lines := hostscript.Assign(values)
	if len(s.Args) > 0 {
		words := []string{"set --"}
		for _, a := range s.Args {
			words = append(words, hostscript.Quote(a))
		}
		lines += strings.Join(words, " ") + "\n"
	}
	script = append(script, engine.ScriptPart{Values: lines})
	if len(s.Job) > 0 {
		script = append(script, engine.ScriptPart{Job: s.Job})
	}
	return append(script, s.Text...)
}

// bootVar is the variable for the boot of a script.
const bootVar = "boot"

// Strict is the first line of a script that must end at the first failed command or
// unset variable.
const Strict = "set -eu\n"

// BuildStrict returns a script that begins with Strict and a check of the hold, if
// there is one.
func BuildStrict(check engine.Script, s Script) engine.Script {
	return engine.JoinScripts(engine.NewScript(Strict), check, s.Build())
}

// AllowedHolders returns the runs that may hold a host during a non-disruptive
// change: this run, and the run whose hold the host has. The planner allows no
// hold that this run may not adopt. adopted is empty if no run holds the host.
func AllowedHolders(t engine.Target) (run, adopted engine.HoldOwner) {
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		adopted = h.Owner()
	}
	return t.Owner(), adopted
}

// Step returns a step that runs a script on the host.
func Step(t engine.Target, name string, script engine.Script, timeout engine.Duration) engine.Step {
	return engine.Step{Name: name, On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: script}}, Timeout: timeout}
}

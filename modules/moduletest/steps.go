package moduletest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/shelltest"
)

func listSteps(steps engine.Steps) string {
	var b strings.Builder
	for _, s := range slices.Concat(steps.Stage, steps.Write, steps.Reboot, steps.Rollback) {
		fmt.Fprintf(&b, "%s on %s within %s, breaks the connection: %v\n", s.Name, s.On, s.Timeout, s.Reboots)
		if s.Do.AwaitBoot != nil {
			fmt.Fprintf(&b, "\tnot %s, but %s\n", cmp.Or(s.Do.AwaitBoot.BootID, "the boot it is in"), s.Do.AwaitBoot.Digest)
			continue
		}
		for line := range strings.Lines(ShortenHoldCheck(s.Do.Exec.Script.String())) {
			line = strings.TrimPrefix(line, "job='")
			name, _, ok := strings.Cut(line, "=")
			if strings.HasPrefix(line, "#") {
				break
			}
			if strings.HasPrefix(line, "set -- ") || ok && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" {
				b.WriteString("\t" + line)
			}
		}
	}
	for _, part := range []struct {
		name  string
		steps []engine.Step
	}{{"act", steps.Act}, {"record", steps.Record}, {"instead, if quiet", steps.NonDisruptive}} {
		for _, s := range part.steps {
			fmt.Fprintf(&b, "%s: %s within %s, a reboot stands in for it: %v\n", part.name, s.Name, s.Timeout, s.Do.Exec.Fallback)
		}
	}
	if len(steps.StoppedServices) > 0 {
		fmt.Fprintf(&b, "not waited for: %s\n", strings.Join(steps.StoppedServices, ", "))
	}
	return b.String()
}

// ShortenHoldCheck replaces each check of the hold in a script, and in its job, by the variables that tell whose hold is needed.
func ShortenHoldCheck(script string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(script, "holdrun=")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		var check string
		check, script, _ = strings.Cut(rest, "\ncheck_hold\n")
		for line := range strings.Lines(check) {
			if name, _, _ := strings.Cut(line, "="); name == "holdown" || name == "holdadopted" || name == "holdmust" {
				b.WriteString(line)
			}
		}
	}
}

// CheckScripts checks the scripts of steps and probes of a module with sh and
// shellcheck, as they are sent to hosts. It checks each step of each driver once,
// as in the first case that has the step.
func CheckScripts(t *testing.T, m engine.Module) {
	t.Helper()
	for name, script := range scriptsOfCases(t, m) {
		t.Run(name, func(t *testing.T) { shelltest.Check(t, name, script) })
	}
}

func scriptsOfCases(t *testing.T, m engine.Module) map[string]string {
	t.Helper()
	scripts := map[string]string{}
	add := func(name, script string) {
		if scripts[name] == "" {
			scripts[name] = script
		}
	}
	for _, path := range casePaths(t) {
		_, input, _ := readCase(t, path)
		p := planCase(t, m, input)
		for _, c := range m.Observer.Probe(p.desired) {
			add(m.Name+" probe "+c.Name, c.Script)
		}
		driver := ""
		if p.facts.Tool != "" {
			driver = strings.Fields(p.facts.Tool)[0]
		}
		for _, s := range stepsOf(p.steps) {
			if s.Do.Exec != nil {
				add(strings.Join([]string{m.Name, driver, s.Name}, " "), s.Do.Exec.Script.String())
			}
		}
	}
	return scripts
}

func stepsOf(s engine.Steps) []engine.Step {
	return slices.Concat(s.Stage, s.Write, s.Act, s.Reboot, s.Record, s.Rollback, s.Before, s.After, s.NonDisruptive)
}

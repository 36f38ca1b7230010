package hostconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
	"holdfast/modules/osimage"
	"holdfast/modules/shell"
)

const (
	writeTimeout  = engine.Duration(10 * time.Minute) // most of this time is for the upload
	recordTimeout = engine.Duration(time.Minute)
)

func (x *configDiff) buildSteps(t engine.Target) engine.Steps {
	w := x.buildWrite(t)
	var s engine.Steps
	if !w.isEmpty() || lacksRestarts(t) {
		w.probation = x.needsProof()
		s.Write = w.writeSteps(t, writeTimeout)
	}
	for _, a := range x.diff.Actions {
		if a.Type == engine.RebootAction {
			s.Reboot = osimage.PlainReboot(t)
		}
		s.Actions = append(s.Actions, a.Action)
	}
	for _, a := range w.acts {
		do := actScript(t.Owner(), a, w.failure(a.String()))
		do.Fallback = !t.Desired.StopOnError
		s.Act = append(s.Act, newStep(t, a.String(), do, ActionStepTimeout(a)))
	}
	s.Record = []engine.Step{newStep(t, "record", recordScript(t.Owner(), w.after, false), recordTimeout)}
	s.NonDisruptive = w.nonDisruptiveSteps(t)
	s.StoppedServices = x.units.endingServices()
	return s
}

// nonDisruptiveSteps returns the step that writes, acts and records in one script,
// which saves round trips. A write on probation is proved before anything acts.
func (w hostWrite) nonDisruptiveSteps(t engine.Target) []engine.Step {
	if w.isEmpty() && len(w.acts) == 0 {
		return []engine.Step{newStep(t, "record", recordScript(t.Owner(), w.after, true), recordTimeout)}
	}
	w.quiet = true
	_, w.adopted = shell.AllowedHolders(t)
	acting := engine.Duration(0)
	for _, a := range w.acts {
		acting += ActionStepTimeout(a)
	}
	steps := w.writeSteps(t, writeTimeout+acting)
	if w.probation {
		steps = append(steps, newStep(t, "record", w.closingScript(), recordTimeout+acting))
	}
	last := steps[len(steps)-1]
	last.Do.Exec.Fallback = !t.Desired.StopOnError && len(w.acts) > 0
	return steps
}

// writeSteps returns the step that writes, and for a write on probation the step
// that proves the login.
func (w hostWrite) writeSteps(t engine.Target, limit engine.Duration) []engine.Step {
	write := newStep(t, "write", w.buildScript(), limit)
	if !w.probation {
		return []engine.Step{write}
	}
	write.Do.Exec.Probation = true
	prove := engine.Step{Name: "prove login", On: t.Host.Name, Timeout: proveTimeout, Do: engine.Op{ProveLogin: &engine.ProveLogin{Confirm: w.probationScript(confirmText), Undo: w.probationScript(unproveText)}}}
	return []engine.Step{write, prove}
}

// closingScript acts and records after a write without a hold that was on probation.
func (w hostWrite) closingScript() engine.Exec {
	text := append(shell.Text(closeText), engine.NewScript(w.closingLines())...)
	return engine.Exec{Script: libraryScript(w.owner.Run, "record", w.holdCheck(), text), Uploads: w.closingUploads()}
}

func scriptedActions(actions []rules.Action) []rules.Action {
	var list []rules.Action
	for _, a := range actions {
		if a.Type == engine.ReloadDaemon || a.Type == engine.ReloadUnit || a.Type == engine.RestartUnit {
			list = append(list, a)
		}
	}
	return list
}

func newStep(t engine.Target, name string, do engine.Exec, limit engine.Duration) engine.Step {
	return engine.Step{Name: name, On: t.Host.Name, Do: engine.Op{Exec: &do}, Timeout: limit}
}

// ActionStepTimeout is longer than the timeout of the action, which the host
// itself enforces.
func ActionStepTimeout(a rules.Action) engine.Duration {
	return actionTimeout(a) + engine.Duration(time.Minute)
}

// needsProof reports whether the write must be on probation.
func (x *configDiff) needsProof() bool {
	return slices.ContainsFunc(x.diff.Changes, func(c rules.Change) bool {
		return x.touchesLogin(c) && !x.subjects.isReportOnly(subject{c.Kind, c.Name})
	})
}

func (w hostWrite) probationScript(text *engine.SharedText) engine.Script {
	return libraryScript(w.owner.Run, "write", nil, shell.Text(text))
}

// libraryScript returns a script with the variables of the functions that all scripts
// of a write share. Its text begins with shareLibrary.
func libraryScript(run, doing string, check, text engine.Script) engine.Script {
	vars := map[string]string{"run": run, "doing": doing, "root": ""}
	return shell.BuildStrict(check, shell.Script{Vars: vars, Text: text})
}

// actScript returns the script that carries out one action on a host that the run
// holds. If the action fails or takes too long, the script writes failed as the
// record of the host, and exits with ScriptActionFailed.
func actScript(owner engine.HoldOwner, a rules.Action, failed []byte) engine.Exec {
	script := append(shell.Text(actText), engine.NewScript(actLine(0, a)+"mark_point acted\nremove_write_files\n")...)
	return engine.Exec{
		Script:  libraryScript(owner.Run, a.String(), hostscript.CheckHoldSnippet(owner), script),
		Uploads: []engine.Upload{{Name: "failed-0", Data: failed}},
	}
}

// recordScript returns the script that records the applied configuration after
// everything has taken effect. The script also ends the write of the run. If
// quiet, the script requires that nobody else holds the host. If not, it requires
// that the run holds the host.
func recordScript(owner engine.HoldOwner, after []byte, quiet bool) engine.Exec {
	check := hostWrite{owner: owner, quiet: quiet}.holdCheck()
	return engine.Exec{Script: libraryScript(owner.Run, "record", check, shell.Text(recordText)), Uploads: []engine.Upload{{Name: "after", Data: after}}}
}

// ActionSnippet returns the end of a script that carries out one action and writes
// no record.
func ActionSnippet(a rules.Action) engine.Script {
	return append(shell.Text(actionText), engine.NewScript(actLine(0, a))...)
}

// defaultActionTimeout is how long a reload or restart may take if its rule has
// no timeout.
const defaultActionTimeout = engine.Duration(2 * time.Minute)

func actLine(n int, a rules.Action) string {
	limit := actionTimeout(a)
	seconds := max(1, int64(time.Duration(limit)/time.Second))
	args := []string{"run_action", strconv.Itoa(n), string(a.Type), hostscript.Quote(a.Unit), fmt.Sprint(seconds), hostscript.Quote(time.Duration(limit).String())}
	return strings.Join(args, " ") + "\n"
}

func actionTimeout(a rules.Action) engine.Duration {
	if a.Timeout <= 0 {
		return defaultActionTimeout
	}
	return a.Timeout
}

func (w hostWrite) closingLines() string {
	var b strings.Builder
	for i, a := range w.acts {
		b.WriteString(actLine(i, a))
	}
	return b.String() + "mark_point acted\ncomplete_record\n"
}

// closingUploads are the records of the script that acts and records.
func (w hostWrite) closingUploads() []engine.Upload {
	list := []engine.Upload{{Name: "after", Data: w.after}}
	for i, a := range w.acts {
		list = append(list, engine.Upload{Name: "failed-" + strconv.Itoa(i), Data: w.failure(a.String())})
	}
	return list
}

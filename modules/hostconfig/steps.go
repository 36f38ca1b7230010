package hostconfig

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/rules"
	"holdfast/modules/osimage"
	"holdfast/modules/shell"
)

// writeTimeout bounds a write. Most of this time is for the upload.
const writeTimeout = engine.Duration(10 * time.Minute)

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
	for _, a := range scriptedActions(x.diff.Actions) {
		script, uploads := actScript(t.Owner(), a, w.failure(a.String()))
		step := withUploads(shell.Step(t, a.String(), script, ActionStepTimeout(a)), uploads)
		step.Do.Exec.Fallback = !t.Desired.StopOnError
		s.Act = append(s.Act, step)
	}
	script, uploads := recordScript(t.Owner(), w.after, false)
	s.Record = []engine.Step{withUploads(shell.Step(t, "record", script, engine.Duration(time.Minute)), uploads)}
	s.NonDisruptive = x.nonDisruptiveSteps(t, w)
	s.StoppedServices = x.units.endingServices()
	return s
}

// nonDisruptiveSteps returns the step that writes, acts and records in one script,
// which saves round trips. A write on probation is proved before anything acts.
func (x *configDiff) nonDisruptiveSteps(t engine.Target, w hostWrite) []engine.Step {
	if w.isEmpty() && len(scriptedActions(x.diff.Actions)) == 0 {
		script, uploads := recordScript(t.Owner(), w.after, true)
		return []engine.Step{withUploads(shell.Step(t, "record", script, engine.Duration(time.Minute)), uploads)}
	}
	w.quiet, w.acts = true, scriptedActions(x.diff.Actions)
	_, w.adopted = shell.AllowedHolders(t)
	acting := engine.Duration(0)
	for _, a := range w.acts {
		acting += ActionStepTimeout(a)
	}
	steps := w.writeSteps(t, writeTimeout+acting)
	if w.probation {
		steps = append(steps, w.closingStep(t, engine.Duration(time.Minute)+acting))
	}
	last := steps[len(steps)-1]
	last.Do.Exec.Fallback = !t.Desired.StopOnError && len(w.acts) > 0
	return steps
}

// writeSteps returns the step that writes, and for a write on probation the step
// that proves the login.
func (w hostWrite) writeSteps(t engine.Target, limit engine.Duration) []engine.Step {
	script, uploads := w.buildScript()
	write := withUploads(shell.Step(t, "write", script, limit), uploads)
	if !w.probation {
		return []engine.Step{write}
	}
	write.Do.Exec.Probation = true
	prove := engine.Step{Name: "prove login", On: t.Host.Name, Timeout: proveTimeout, Do: engine.Op{ProveLogin: &engine.ProveLogin{Confirm: w.probationScript(confirmText), Undo: w.probationScript(unproveText)}}}
	return []engine.Step{write, prove}
}

// closingStep acts and records after a write without a hold that was on probation.
func (w hostWrite) closingStep(t engine.Target, limit engine.Duration) engine.Step {
	text := append(shell.Text(closeText), engine.NewScript(w.actLines()+"mark_point acted\ncomplete_record\n")...)
	script := libraryScript(w.owner.Run, "record", w.holdCheck(), text)
	return withUploads(shell.Step(t, "record", script, limit), w.closingUploads())
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

func withUploads(step engine.Step, uploads []engine.Upload) engine.Step {
	step.Do.Exec.Uploads = uploads
	return step
}

// ActionStepTimeout is longer than the timeout of the action, which the host
// itself enforces.
func ActionStepTimeout(a rules.Action) engine.Duration {
	return actionTimeout(a) + engine.Duration(time.Minute)
}

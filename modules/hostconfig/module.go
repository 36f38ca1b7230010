package hostconfig

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/rules"
	"holdfast/modules/hostconfig/observe"
	"holdfast/modules/osimage"
	"holdfast/modules/shell"
)

// Module returns the module that manages files, directories, links, units, users
// and groups.
func Module() engine.Module {
	return engine.Module{Name: engine.ConfigModule, Observer: module{}, Changes: module{}}
}

type module struct{}

// Probe returns no commands if no configuration is desired.
func (module) Probe(d engine.Desired) []engine.Command { return observe.Probe(d) }

// Read adds the observed configuration to the facts.
func (module) Read(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	return observe.Read(d, o, f)
}

// Diff compares the host with its desired configuration. Its changes include
// drift, also for a pool that only reports drift.
func (module) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if d.Config == nil || hasNothing(d, f) {
		return engine.Difference{}, nil
	}
	x, err := newConfigDiff(d, f, true)
	if err != nil {
		return engine.Difference{}, err
	}
	return engine.Difference{Changes: x.listChanges(), Steps: func(t engine.Target, changes []engine.Change) engine.Steps {
		t.Desired = d
		repair := slices.ContainsFunc(changes, func(c engine.Change) bool { return c.Drift })
		if repair || !x.hasDrift() {
			return x.buildSteps(t)
		}
		onlyWanted, err := newConfigDiff(d, f, false)
		if err != nil { // the comparison above would have failed, too
			return engine.Steps{}
		}
		return onlyWanted.buildSteps(t)
	}}, nil
}

func hasNothing(d engine.Desired, f engine.Facts) bool {
	return d.NoDocuments && f.Config != nil && f.Config.Problem == "" && f.Config.Applied == nil
}

// writeTimeout bounds a write. Most of this time is for the upload.
const writeTimeout = engine.Duration(10 * time.Minute)

func (x *configDiff) buildSteps(t engine.Target) engine.Steps {
	w := x.buildWrite(t)
	var s engine.Steps
	if !w.isEmpty() {
		text, uploads := w.buildScript()
		s.Write = []engine.Step{withUploads(shell.Step(t, "write", text, writeTimeout), uploads)}
	}
	for _, a := range x.diff.Actions {
		if a.Type == engine.RebootAction {
			s.Reboot = osimage.PlainReboot(t)
		}
		s.Actions = append(s.Actions, a.Action)
	}
	for _, a := range scriptedActions(x.diff.Actions) {
		text, uploads := actScript(t.Owner(), a, w.failure(a.String()))
		step := withUploads(shell.Step(t, a.String(), text, ActionStepTimeout(a)), uploads)
		step.Do.Exec.Fallback = !t.Desired.StopOnError
		s.Act = append(s.Act, step)
	}
	text, uploads := recordScript(t.Owner(), w.after, false)
	s.Record = []engine.Step{withUploads(shell.Step(t, "record", text, engine.Duration(time.Minute)), uploads)}
	s.NonDisruptive = []engine.Step{x.nonDisruptiveStep(t, w)}
	s.StoppedServices = x.endingServices()
	return s
}

// endingServices lists the units that the configuration disables, masks or no
// longer has. After a boot these units need not run.
func (x *configDiff) endingServices() []string {
	var names []string
	stays := map[string]bool{}
	for _, u := range x.want.Units {
		stays[u.Name] = true
		if u.Masked != nil && *u.Masked || u.Enabled != nil && !*u.Enabled {
			names = append(names, u.Name)
		}
	}
	for _, u := range x.was.Units {
		if !stays[u.Name] {
			names = append(names, u.Name)
		}
	}
	return names
}

// nonDisruptiveStep returns the step that writes, acts and records in one script,
// which saves round trips.
func (x *configDiff) nonDisruptiveStep(t engine.Target, w hostWrite) engine.Step {
	if w.isEmpty() && len(scriptedActions(x.diff.Actions)) == 0 {
		text, uploads := recordScript(t.Owner(), w.after, true)
		return withUploads(shell.Step(t, "record", text, engine.Duration(time.Minute)), uploads)
	}
	w.quiet, w.acts = true, scriptedActions(x.diff.Actions)
	_, w.adopted = shell.AllowedHolders(t)
	limit := writeTimeout
	for _, a := range w.acts {
		limit += ActionStepTimeout(a)
	}
	text, uploads := w.buildScript()
	step := withUploads(shell.Step(t, "write", text, limit), uploads)
	step.Do.Exec.Fallback = !t.Desired.StopOnError && len(w.acts) > 0
	return step
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

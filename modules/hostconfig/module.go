package hostconfig

import (
	"slices"

	"holdfast/engine"
	"holdfast/modules/hostconfig/observe"
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

package hostconfig

import (
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

// Package modules lists the modules. Each module is a package in a folder below,
// and manages one kind of resource on hosts. It defines the probes, compares
// their output with the desired state, and returns the steps that make the
// changes.
//
// The modules are pure, like package engine: they observe hosts only through the
// output of commands, and change hosts only through scripts in steps. They must
// not read files, open connections, start goroutines or use a clock.
package modules

import (
	"holdfast/engine"
	"holdfast/modules/hostconfig"
	"holdfast/modules/hoststate"
	"holdfast/modules/osimage"
)

// HoldsOnly returns the module that observes boots and holds, for commands that ask for nothing else.
func HoldsOnly() []engine.Module { return []engine.Module{hoststate.HoldModule()} }

// All returns every module, in the order in which they change a host.
func All() []engine.Module {
	return []engine.Module{hoststate.Module(), osimage.Module(), hostconfig.Module()}
}

// Package modules lists the modules. Each is a package below it, for one kind of
// resource on a host: the probes, the changes that follow from their output, and
// the steps that make these changes.
//
// The modules are pure like package engine: they observe hosts only through the
// output of commands, and change them only through scripts in steps. They must
// not read files, open connections, start goroutines or use a clock.
package modules

import (
	"holdfast/engine"
	"holdfast/modules/hostconfig"
	"holdfast/modules/hoststate"
	"holdfast/modules/osimage"
)

// All returns every module, in the order in which a host is changed.
func All() []engine.Module {
	return []engine.Module{hoststate.Module{}, osimage.Module{}, hostconfig.Module{}}
}

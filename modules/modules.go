// Package modules says, for each kind of resource on a host, what to look at,
// which changes follow from it, and the steps that make them.
//
// It is pure like package engine: it sees hosts only through the output of
// commands, and acts on them only through scripts in steps. It may not read
// files, open connections, start goroutines or ask a clock.
package modules

import "holdfast/engine"

// All gives every module, in the order in which a host is changed.
func All() []engine.Module {
	return []engine.Module{system{}, operatingSystem{}, configuration{}}
}

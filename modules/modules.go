// Package modules defines, for each kind of resource on a host, the probes, the
// changes that follow from their output, and the steps that make these changes.
//
// The package is pure like package engine: it observes hosts only through the
// output of commands, and changes them only through scripts in steps. It must
// not read files, open connections, start goroutines or use a clock.
package modules

import "holdfast/engine"

// All returns every module, in the order in which a host is changed.
func All() []engine.Module {
	return []engine.Module{system{}, operatingSystem{}, configuration{}}
}

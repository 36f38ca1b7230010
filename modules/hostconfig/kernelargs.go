package hostconfig

import (
	"slices"

	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// The kernel arguments of a document are added to those of the host. Only the
// record tells which arguments holdfast has added, see resource.Record. So it
// names them before the deployment that has them can be booted.

// argDiff is the part of a configDiff about kernel arguments.
type argDiff struct {
	desired resource.Config
	applied *resource.Record
	cmdLine []string // kernel arguments of the host
}

// newArgs returns the desired kernel arguments that the host lacks and that are
// new in the configuration. An argument that was recorded as the host's stays the
// host's.
func (d argDiff) newArgs() []string {
	var recorded []string
	if a := d.applied; a != nil {
		recorded = slices.Concat(a.Config.KernelArgs, a.AddedArgs)
	}
	return dropMatching(d.desired.KernelArgs, func(arg string) bool {
		return slices.Contains(d.cmdLine, arg) || slices.Contains(recorded, arg)
	})
}

// argsDuringWrite returns the kernel arguments that holdfast has added, and those
// that the next boot adds.
func (d argDiff) argsDuringWrite() []string {
	added := d.newArgs()
	if a := d.applied; a != nil {
		added = append(added, a.AddedArgs...)
	}
	return sortedSet(added)
}

func (d argDiff) argsAfterWrite() []string {
	return dropMatching(d.argsDuringWrite(), func(arg string) bool { return !slices.Contains(d.desired.KernelArgs, arg) })
}

// stayingArgs returns a warning for each kernel argument that leaves the
// configuration and stays on the host.
func (d argDiff) stayingArgs() (warnings []string) {
	a := d.applied
	if a == nil {
		return nil
	}
	listed := slices.Clone(a.Config.KernelArgs)
	if a.Unfinished != nil {
		listed = append(listed, a.Unfinished.Config.KernelArgs...)
	}
	handled := slices.Concat(d.desired.KernelArgs, d.desired.NoKernelArgs, a.AddedArgs)
	for _, arg := range sortedSet(listed) {
		if slices.Contains(d.cmdLine, arg) && !slices.Contains(handled, arg) {
			warnings = append(warnings, "kernel argument "+textutil.Printable(arg)+" leaves the documents and stays on the host: the record does not say that holdfast has added it. To remove it, list it in should_not_exist")
		}
	}
	return warnings
}

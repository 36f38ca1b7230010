package hostconfig

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
	"holdfast/modules/hostconfig/record"
	"holdfast/modules/shell"
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

// stayingSettings returns a warning for each kernel argument and kernel type that leaves
// the configuration and stays on the host.
func (d argDiff) stayingSettings() (warnings []string) {
	a := d.applied
	if a == nil {
		return nil
	}
	if was := a.Config.KernelType; d.desired.KernelType == "" && was != "" && was != "default" {
		warnings = append(warnings, "kernel type "+textutil.Printable(was)+" leaves the documents, and the host keeps its kernel: only an OS image with another kernel changes it")
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

// RecordNewArgs returns steps that only add the kernel arguments of the next boot to the record of the host, for a reboot
// without a write of the configuration. It returns nil if the record has them, or if no argument is new. A host without a
// record gets one of the resources that match, as before a write, or of none if something is in the way of the configuration: the
// reboot does not touch it. It fails if the record of the host cannot be read.
func RecordNewArgs(d engine.Desired, f engine.Facts) (func(engine.Target) []engine.Step, error) {
	if d.Config == nil || len(d.Config.KernelArgs) == 0 {
		return nil, nil
	}
	var a resource.Record
	args := argDiff{desired: *d.Config, cmdLine: f.KernelArgs}
	if f.Config != nil && f.Config.Applied != nil {
		a, args.applied = *f.Config.Applied, f.Config.Applied
	}
	if len(args.newArgs()) == 0 {
		return nil, nil
	}
	if args.applied == nil {
		x, err := newConfigDiff(d, f, true)
		switch {
		case err == nil:
			a = x.firstRecord()
		case f.Config == nil || f.Config.Problem != "":
			return nil, err
		default:
			a.Schema = resource.RecordSchema
		}
	}
	a.AddedArgs = args.argsDuringWrite()
	return func(t engine.Target) []engine.Step {
		do := engine.Exec{
			Script:  libraryScript(t.Owner().Run, "record", hostWrite{owner: t.Owner()}.holdCheck(), shell.Text(noteText)),
			Uploads: []engine.Upload{{Name: "noted", Data: record.Encode(a)}},
		}
		return []engine.Step{newStep(t, "record", do, recordTimeout)}
	}, nil
}

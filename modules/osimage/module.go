package osimage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/engine/textutil"
	"holdfast/modules/shell"
)

// driver uses one tool that updates the OS of a host. Every such tool is based on
// ostree, which keeps the deployments and the lock of the staged deployment.
type driver interface {
	// probeCommands returns the probes of the tool, without the ostree probes.
	probeCommands() []engine.Command
	// readStatus replaces the deployments in the facts, which come from ostree,
	// by those that the tool reports. wanted is the digest of the desired OS.
	readStatus(o engine.Outputs, f engine.Facts, wanted string) engine.Facts
	// checkUpdate returns the reason why the host cannot be updated, or nil.
	checkUpdate(osUpdate, engine.Facts) error
	// stageJob returns the variables, functions and arguments of the shell
	// function stage. Its text is of shareStageFunctions.
	stageJob(osUpdate, engine.Facts) shell.Script
	// stagesInUnit reports whether processes of the staging unit do the work,
	// and not those of a daemon.
	stagesInUnit() bool
	// cleanCommand returns the command that the staging unit runs at its end, also
	// if it is killed, or "". The command has no quotes, and no character that
	// systemd or the shell expands.
	cleanCommand(governed string, content *engine.Content) string
	// checkStopped returns the end of the script that stops a staging. It fails if
	// the host still stages although the unit has ended.
	checkStopped() string
	// rollbackJobText returns the text of shareRollbackJob, with the shell functions
	// restore, which boots the previous deployment next, and drop, which removes the
	// staged deployment.
	rollbackJobText() *engine.SharedText
}

// osUpdate describes the deployment that a host is to boot next.
type osUpdate struct {
	os     engine.OS
	digest string     // digest of the OS
	again  bool       // the update stages the booted OS with other kernel arguments
	args   kernelArgs // changes of the arguments of the booted deployment
}

func driverOf(o engine.OS) (driver, error) {
	switch o.Driver {
	case "ostree":
		return ostree{}, nil
	case "rpm-ostree":
		return rpmOstree{}, nil
	case "bootc":
		return bootc{}, nil
	}
	return nil, fmt.Errorf("no driver %q; there are ostree, rpm-ostree and bootc", o.Driver)
}

// Module returns the module that updates the OS. It stages the OS while all
// services run. The OS takes effect at a reboot.
func Module() engine.Module {
	return engine.Module{Name: engine.OSModule, Observer: module{}, Changes: module{}, Rollback: module{}}
}

type module struct{}

// Probe returns no commands if no OS is desired.
func (module) Probe(d engine.Desired) []engine.Command {
	if d.OS == nil {
		return nil
	}
	tool, err := driverOf(*d.OS)
	if err != nil {
		return nil
	}
	return slices.Concat(ostreeProbe(), tool.probeCommands(), kernelProbe(d))
}

// Read adds the deployments and the state of the OS tool to the facts.
func (module) Read(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	if d.OS == nil {
		return f
	}
	tool, err := driverOf(*d.OS)
	if err != nil {
		return f
	}
	f = checkBooted(o, tool.readStatus(o, readOstree(o, f), d.OS.Digest()))
	return readKernel(o, readSoftReboot(o, readStagedEtcd(o, f)))
}

// Diff compares the booted OS and its kernel arguments with the desired ones.
func (module) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	changes, err := findChanges(d, f)
	return engine.Difference{Changes: changes, Steps: planSteps}, err
}

func findChanges(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	if err := kargsProblem(d); err != nil {
		return nil, err
	}
	if d.OS == nil {
		return nil, checkLeftoverArgs(d, f)
	}
	tool, err := driverOf(*d.OS)
	if err != nil {
		return nil, err
	}
	if f.Tool == "" {
		return nil, fmt.Errorf("host has no %s; its inventory says driver %q", d.OS.Driver, d.OS.Driver)
	}
	booted := f.Booted()
	if booted == nil {
		return nil, notBootedError(f)
	}
	changes, err := argumentChanges(d, f)
	if err != nil {
		return nil, err
	}
	if digest := d.OS.Digest(); digest == "" || digest == booted.Digest {
		if err := checkKernelType(d, f); err != nil {
			return nil, err
		}
	} else {
		changes = append([]engine.Change{{
			Module: engine.OSModule, Resource: "os",
			Before: describeDeployment(*booted), After: engine.ShortDigest(digest),
			Rule:    "built-in: an OS image takes effect at a reboot",
			Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}}, RebootClass: rules.OSImageClass,
		}}, changes...)
	}
	if len(changes) == 0 {
		return nil, nextBootProblem(f)
	}
	if err := bootProblem(newUpdate(d, f, changes), f); err != nil {
		return nil, err
	}
	if err := tool.checkUpdate(newUpdate(d, f, changes), f); err != nil {
		return nil, err
	}
	if f.BootID == "" {
		return nil, errors.New("its boot ID is unknown, so a reboot could not be recognised")
	}
	return changes, nil
}

// planSteps returns the steps that stage the OS with its kernel arguments, unless
// the host has staged it, and reboot the host into it.
func planSteps(t engine.Target, changes []engine.Change) engine.Steps {
	wanted := slices.ContainsFunc(changes, func(c engine.Change) bool { return c.Module == engine.OSModule })
	if !wanted || t.Desired.OS == nil {
		return engine.Steps{}
	}
	tool, err := driverOf(*t.Desired.OS)
	if err != nil {
		return engine.Steps{}
	}
	u := newUpdate(t.Desired, t.Facts, changes)
	steps := engine.Steps{Reboot: finalizeSteps(t, u), Rollback: rollbackSteps(t, u, tool, t.Facts.Booted())}
	if !IsStaged(t.Desired, t.Facts, changes) {
		steps.Stage = []engine.Step{stageStep(t, u, tool)}
	}
	return steps
}

// IsStaged reports whether the host has staged the deployment that these changes
// lead to.
func IsStaged(d engine.Desired, f engine.Facts, changes []engine.Change) bool {
	u := newUpdate(d, f, changes)
	return f.Ready(u.digest, u.args.changeDigest())
}

func newUpdate(d engine.Desired, f engine.Facts, changes []engine.Change) osUpdate {
	u := osUpdate{os: *d.OS, again: true}
	for _, c := range changes {
		switch {
		case c.Module != engine.OSModule:
		case c.Kind == engine.KernelArgKind:
			u.args = wantedOf(d, f).computeChange(f.KernelArgs).spellRemovals(f.BootEntryArgs)
		default:
			u.again, u.digest = false, d.OS.Digest()
		}
	}
	if booted := f.Booted(); u.again && booted != nil {
		u.digest = booted.Digest
	}
	return u
}

func argumentChanges(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	wanted := wantedOf(d, f)
	if len(wanted.present)+len(wanted.absent) == 0 {
		return nil, nil
	}
	if len(f.KernelArgs) == 0 {
		return nil, errors.New("its kernel arguments are not known: /proc/cmdline says nothing")
	}
	was := recordOf(f)
	drift := was != nil && was.Unfinished == nil && !rolledBack(f) &&
		slices.Equal(was.Config.KernelArgs, d.Config.KernelArgs) && slices.Equal(was.Config.NoKernelArgs, d.Config.NoKernelArgs)
	return wanted.listChanges(f.KernelArgs, drift), nil
}

// checkLeftoverArgs returns an error if kernel arguments must be removed from a
// host without an OS block. holdfast has no tool to remove them there.
func checkLeftoverArgs(d engine.Desired, f engine.Facts) error {
	if gone := wantedOf(d, f).absent; len(gone) > 0 {
		return fmt.Errorf(`kernel argument %s was set by holdfast and is not desired any more; an os block with a driver removes it: os { driver = "ostree" }`, textutil.Printable(gone[0]))
	}
	return nil
}

func wantedOf(d engine.Desired, f engine.Facts) wantedArgs {
	if d.Config == nil {
		return wantedArgs{}
	}
	return newWantedArgs(*d.Config, recordOf(f))
}

func recordOf(f engine.Facts) *resource.Record {
	if f.Config == nil {
		return nil
	}
	return f.Config.Applied
}

func notBootedError(f engine.Facts) error {
	if f.OSProblem != "" {
		return fmt.Errorf("its booted OS is not known: %s", f.OSProblem)
	}
	return errors.New("not booted from an ostree deployment")
}

// withProblem adds the reason why the deployments are not known, or which of them is booted. The first reason stays.
func withProblem(f engine.Facts, problem string) engine.Facts {
	f.OSProblem, f.Problems = cmp.Or(f.OSProblem, problem), shell.AppendProblem(f.Problems, problem)
	return f
}

func describeDeployment(d engine.Deployment) string {
	if d.Version == "" {
		return engine.ShortDigest(d.Digest)
	}
	return d.Version + " (" + engine.ShortDigest(d.Digest) + ")"
}

func freeBytes(text string) (int64, error) {
	_, line, _ := strings.Cut(strings.TrimSpace(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0, fmt.Errorf("df prints %q", text)
	}
	// The first column, the name of the device, may contain spaces. So columns
	// are counted from the end.
	kib, err := strconv.ParseInt(fields[len(fields)-3], 10, 53)
	return kib * 1024, err
}

package modules

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"holdfast/engine"
)

// driver knows one tool that updates the OS of a host. Below all of them is
// ostree, which keeps the deployments and the lock of the staged one.
type driver interface {
	// probe lists what to look at besides ostree.
	probe() []engine.Command
	// read names the deployments that ostree has listed as the tool does.
	read(engine.Outputs, engine.Facts) engine.Facts
	// check reports what speaks against updating the host.
	check(engine.OS, engine.Facts) error
	// job gives the variables and functions of the shell function stage.
	job(engine.OS, engine.Facts) script
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

// operatingSystem updates the OS: staged while everything runs, it takes
// effect at a reboot.
type operatingSystem struct{}

// Name is the module's name in plans.
func (operatingSystem) Name() string { return "os" }

// Probe lists what to look at; nothing where no OS is desired.
func (operatingSystem) Probe(d engine.Desired) []engine.Command {
	if d.OS == nil {
		return nil
	}
	tool, err := driverOf(*d.OS)
	if err != nil {
		return nil
	}
	return append(ostreeProbe(), tool.probe()...)
}

// Read adds the deployments and the state of the OS tool to the facts.
func (operatingSystem) Read(d engine.Desired, o engine.Outputs, f engine.Facts) engine.Facts {
	if d.OS == nil {
		return f
	}
	tool, err := driverOf(*d.OS)
	if err != nil {
		return f
	}
	return tool.read(o, readOstree(o, f))
}

// Diff compares the booted OS with the desired one.
func (operatingSystem) Diff(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	if d.OS == nil {
		return nil, nil
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
		return nil, notBooted(f)
	}
	if booted.Digest == d.OS.Digest() {
		return nil, nil
	}
	if err := tool.check(*d.OS, f); err != nil {
		return nil, err
	}
	if f.BootID == "" {
		return nil, errors.New("its boot ID is not known, so a reboot could not be told")
	}
	return []engine.Change{{
		Module: "os", Resource: "os",
		Before: nameOf(*booted), After: engine.ShortDigest(d.OS.Digest()),
		Rule:    "built-in: an OS image takes effect at a reboot",
		Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}},
	}}, nil
}

// Steps stage the OS, unless it is staged already, and reboot into it.
func (operatingSystem) Steps(t engine.Target, changes []engine.Change) engine.Steps {
	wanted := false
	for _, c := range changes {
		wanted = wanted || c.Module == "os"
	}
	if !wanted || t.Desired.OS == nil {
		return engine.Steps{}
	}
	tool, err := driverOf(*t.Desired.OS)
	if err != nil {
		return engine.Steps{}
	}
	steps := engine.Steps{Reboot: finalizeSteps(t)}
	if !t.Facts.Ready(t.Desired.OS.Digest()) {
		steps.Stage = []engine.Step{stageStep(t, tool)}
	}
	return steps
}

// notBooted tells a host that is not booted from a deployment from one of which
// that is not known.
func notBooted(f engine.Facts) error {
	for _, p := range f.Problems {
		if tool, _, ok := strings.Cut(p, " status: "); ok && !strings.Contains(tool, ":") {
			return fmt.Errorf("what it has booted is not known: %s", p)
		}
	}
	return errors.New("not booted from an ostree deployment")
}

// nameOf names a deployment for people.
func nameOf(d engine.Deployment) string {
	if d.Version == "" {
		return engine.ShortDigest(d.Digest)
	}
	return d.Version + " (" + engine.ShortDigest(d.Digest) + ")"
}

// freeBytes reads what df -Pk prints about one file system.
func freeBytes(text string) (int64, error) {
	_, line, _ := strings.Cut(strings.TrimSpace(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 6 {
		return 0, fmt.Errorf("df prints %q", text)
	}
	// The name of the device may contain spaces; what follows it does not.
	kib, err := strconv.ParseInt(fields[len(fields)-3], 10, 53)
	return kib * 1024, err
}

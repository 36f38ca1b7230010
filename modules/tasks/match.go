package tasks

import (
	"slices"

	"holdfast/engine"
	"holdfast/modules/hostconfig"
	"holdfast/modules/osimage"
)

// stagedOnly is the rule of changes that wait for another play.
const stagedOnly = "playbook: staged only, for a later finalize"

// taskOS is the OS module, limited to the tasks of a play.
type taskOS struct {
	osimage.Module
	play engine.Play
}

// Diff returns the changes of the OS and of kernel arguments if the play
// finalizes them. If the play only stages them, Diff returns changes without
// actions until they are staged.
func (m taskOS) Diff(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	switch {
	case hasTask(m.play, engine.FinalizeTask, f.Host):
		return m.Module.Diff(d, f)
	case !hasTask(m.play, engine.StageTask, f.Host):
		return nil, nil
	}
	changes, err := m.Module.Diff(d, f)
	if d.ReportDrift {
		changes = slices.DeleteFunc(changes, func(c engine.Change) bool { return c.Drift })
	}
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	if osimage.IsStaged(d, f, changes) {
		return nil, nil
	}
	for i := range changes {
		changes[i].Rule, changes[i].Actions = stagedOnly, []engine.Action{{Type: engine.NoAction}}
	}
	return changes, nil
}

// Steps returns the steps that stage, and, if the play finalizes, those that
// finalize.
func (m taskOS) Steps(t engine.Target, changes []engine.Change) engine.Steps {
	s := m.Module.Steps(t, changes)
	if !hasTask(m.play, engine.FinalizeTask, t.Host.Name) {
		s = engine.Steps{Stage: s.Stage}
	}
	return s
}

// taskConfig is the module of the configuration, limited to the tasks of a play.
type taskConfig struct {
	hostconfig.Module
	play engine.Play
}

// Diff compares the host with its configuration if the play has a task for it.
func (m taskConfig) Diff(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	if !hasTask(m.play, engine.ConfigTask, f.Host) {
		return nil, nil
	}
	return m.Module.Diff(m.desiredForRecord(d, f), f)
}

// Steps returns the steps that write the configuration and make it take effect.
func (m taskConfig) Steps(t engine.Target, changes []engine.Change) engine.Steps {
	t.Desired = m.desiredForRecord(t.Desired, t.Facts)
	return m.Module.Steps(t, changes)
}

// desiredForRecord returns the desired state to record. If the play does not
// finalize, kernel arguments and other settings of the OS stay as in the old
// record. If the new ones were recorded, arguments that are not applied yet would
// count as drift, and arguments that must be removed would be forgotten.
func (m taskConfig) desiredForRecord(d engine.Desired, f engine.Facts) engine.Desired {
	if d.Config == nil || hasTask(m.play, engine.FinalizeTask, f.Host) {
		return d
	}
	var was engine.Config
	if f.Config != nil && f.Config.Applied != nil {
		was = f.Config.Applied.Config
	}
	c := hostconfig.WithoutOSSettings(*d.Config)
	c.OSImage, c.ExtensionsImage, c.KernelType = was.OSImage, was.ExtensionsImage, was.KernelType
	c.Extensions, c.KernelArgs, c.NoKernelArgs = was.Extensions, was.KernelArgs, was.NoKernelArgs
	d.Config = &c
	return d
}

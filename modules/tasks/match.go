package tasks

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/hostconfig"
	"holdfast/modules/osimage"
)

// stagedOnly is the rule of changes that wait for another play.
const stagedOnly = "playbook: staged only, for a later finalize"

// taskOS limits the changes of the OS to the tasks of a play.
type taskOS struct {
	os   engine.ChangePlanner
	play engine.Play
}

// Diff returns the changes of the OS and of kernel arguments if the play
// finalizes them. If the play writes no configuration, a step before the reboot
// records the new arguments, because otherwise nothing would ever remove them. If
// the play only stages them, Diff returns changes without actions until they are
// staged.
func (m taskOS) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	finalizes := m.play.HasTaskOn(f.Host, engine.FinalizeTask)
	if !finalizes && !m.play.HasTaskOn(f.Host, engine.StageTask) {
		return engine.Difference{}, nil
	}
	x, err := m.os.Diff(d, f)
	if err != nil {
		return x, err
	}
	if finalizes {
		return m.withRecordedArgs(x, d, f)
	}
	if d.ReportDrift {
		x.Changes = slices.DeleteFunc(x.Changes, func(c engine.Change) bool { return c.Drift })
	}
	if len(x.Changes) == 0 || osimage.IsStaged(d, f, x.Changes) {
		return engine.Difference{}, nil
	}
	for i := range x.Changes {
		x.Changes[i].Rule, x.Changes[i].Actions = stagedOnly, []engine.Action{{Type: engine.NoAction}}
	}
	planSteps := x.Steps
	x.Steps = func(t engine.Target, changes []engine.Change) engine.Steps {
		return engine.Steps{Stage: planSteps(t, changes).Stage}
	}
	return x, nil
}

// withRecordedArgs adds the step that records new kernel arguments, unless a write of the play records them.
func (m taskOS) withRecordedArgs(x engine.Difference, d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if len(x.Changes) == 0 || m.play.HasTaskOn(f.Host, engine.ConfigTask) {
		return x, nil
	}
	recordArgs, err := hostconfig.RecordNewArgs(d, f)
	if err != nil || recordArgs == nil {
		return x, err
	}
	planSteps := x.Steps
	x.Steps = func(t engine.Target, changes []engine.Change) engine.Steps {
		steps := planSteps(t, changes)
		if len(steps.Reboot) > 0 {
			steps.Reboot = append(recordArgs(t), steps.Reboot...)
		}
		return steps
	}
	return x, nil
}

// taskConfig limits the changes of the configuration to the tasks of a play.
type taskConfig struct {
	config engine.ChangePlanner
	play   engine.Play
}

// Diff compares the host with its configuration if the play has a task for it.
func (m taskConfig) Diff(d engine.Desired, f engine.Facts) (engine.Difference, error) {
	if !m.play.HasTaskOn(f.Host, engine.ConfigTask) {
		return engine.Difference{}, nil
	}
	return m.config.Diff(m.desiredForRecord(d, f), f)
}

// desiredForRecord returns the desired state to record. If the play does not
// finalize, kernel arguments and other settings of the OS stay as in the old
// record. If the new ones were recorded, arguments that are not applied yet would
// count as drift, and arguments that must be removed would be forgotten.
func (m taskConfig) desiredForRecord(d engine.Desired, f engine.Facts) engine.Desired {
	if d.Config == nil || m.play.HasTaskOn(f.Host, engine.FinalizeTask) {
		return d
	}
	var was resource.Config
	if f.Config != nil && f.Config.Applied != nil {
		was = f.Config.Applied.Config
		for _, arg := range f.Config.Applied.AddedArgs { // a run that was killed after the boot has not recorded them as its configuration
			if slices.Contains(f.KernelArgs, arg) && !slices.Contains(was.KernelArgs, arg) {
				was.KernelArgs = append(slices.Clip(was.KernelArgs), arg)
			}
		}
	}
	c := hostconfig.WithoutOSSettings(*d.Config)
	c.OSImage, c.ExtensionsImage, c.KernelType = was.OSImage, was.ExtensionsImage, was.KernelType
	c.Extensions, c.KernelArgs, c.NoKernelArgs = was.Extensions, was.KernelArgs, was.NoKernelArgs
	d.Config = &c
	return d
}

package engine

import "slices"

// StepKind says what a step does to its host, to whoever follows a run and must
// not guess it from the step's name.
type StepKind string

// The kinds of step that matter to who follows a run.
const (
	StageStep   StepKind = "stage"      // puts on the host what it is to boot, while everything runs
	HoldStep    StepKind = "hold"       // takes the host's hold
	ReleaseStep StepKind = "release"    // ends it
	RebootStep  StepKind = "reboot"     // orders the host to reboot
	BootStep    StepKind = "await-boot" // waits until the host answers from another boot
	EtcdStep    StepKind = "await-etcd" // waits until the host's etcd member is back
	DefragStep  StepKind = "defragment" // stops the host's etcd member from answering for as long as it lasts
)

// Kind returns what the step does, "" if that is nothing of the above.
func (s Step) Kind() StepKind {
	switch {
	case s.Reboots:
		return RebootStep
	case s.Stages:
		return StageStep
	case s.Do.TakeHold != nil:
		return HoldStep
	case s.Do.Release != nil:
		return ReleaseStep
	case s.Do.AwaitBoot != nil:
		return BootStep
	case s.Do.AwaitEtcd != nil:
		return EtcdStep
	case s.Do.Defragment != nil:
		return DefragStep
	}
	return ""
}

// staging returns the steps, marked as those of staging.
func MarkStaging(steps []Step) []Step {
	marked := slices.Clone(steps)
	for i := range marked {
		marked[i].Stages = true
	}
	return marked
}

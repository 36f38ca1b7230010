package engine

import "slices"

// StepKind is the kind of a step for those who follow a run, so that nobody guesses it
// from the step's name.
type StepKind string

// The kinds of step that matter to who follows a run.
const (
	StageStep   StepKind = "stage"      // puts the next OS on the host, while everything runs
	HoldStep    StepKind = "hold"       // takes the host's hold
	ReleaseStep StepKind = "release"    // ends it
	RebootStep  StepKind = "reboot"     // orders the host to reboot
	BootStep    StepKind = "await-boot" // waits until the host answers from another boot
	EtcdStep    StepKind = "await-etcd" // waits until the host's etcd member is back
	DefragStep  StepKind = "defragment" // stops the host's etcd member from answering for as long as it lasts
)

// Kind returns the kind of the step, "" if no view needs it.
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

// MarkStaging returns the steps, marked as steps of staging.
func MarkStaging(steps []Step) []Step {
	marked := slices.Clone(steps)
	for i := range marked {
		marked[i].Stages = true
	}
	return marked
}

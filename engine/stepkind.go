package engine

// StepKind is the kind of a step for readers of a run's events, so that they need not guess it from the step's name.
type StepKind string

// The kinds of step that matter to readers of a run's events.
const (
	StageStep   StepKind = "stage"             // puts the next OS on the host, which keeps running
	HoldStep    StepKind = "hold"              // takes the host's hold
	ReleaseStep StepKind = "release"           // ends the host's hold
	RebootStep  StepKind = "reboot"            // orders the host to reboot
	BootStep    StepKind = "await-boot"        // waits until the host answers from another boot
	EtcdStep    StepKind = "await-etcd"        // waits until the host's etcd member is back
	RestartStep StepKind = "restart-survivors" // restarts the host's etcd member, which has survived a soft reboot
	DefragStep  StepKind = "defragment"        // defragments the host's etcd member, which does not answer until the step ends
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
	case s.Do.Release != nil || s.Do.EndHold != nil:
		return ReleaseStep
	case s.Do.AwaitBoot != nil:
		return BootStep
	case s.Do.AwaitEtcd != nil:
		return EtcdStep
	case s.Do.Defragment != nil:
		return DefragStep
	case s.Do.RestartSurvivors != nil && s.Do.RestartSurvivors.HasMember:
		return RestartStep
	}
	return ""
}

package engine

import "slices"

// ExitCode is how holdfast ends, for people and for cron.
type ExitCode int

// The exit codes. They are part of the interface, and their meaning never
// changes.
const (
	ExitOK          ExitCode = 0 // every surveyed host matches
	ExitUsage       ExitCode = 1 // usage or configuration error; nothing was touched
	ExitWork        ExitCode = 2 // there is work to do; of apply: hosts have drifted, and their pools only report drift
	ExitFailed      ExitCode = 3 // a roll-out stopped, a host failed, or the next step was not safe
	ExitRefused     ExitCode = 4 // a hold, another run, a setting of the inventory or an unfinished roll-out prevents the work
	ExitUnreachable ExitCode = 5 // hosts could not be reached
	ExitStopped     ExitCode = 6 // the person stopped the command
)

// ExitCodes lists the exit codes.
func ExitCodes() []ExitCode {
	return []ExitCode{ExitOK, ExitUsage, ExitWork, ExitFailed, ExitRefused, ExitUnreachable, ExitStopped}
}

// Meaning returns the meaning of an exit code for every command, without a capital
// letter and a full stop.
func (c ExitCode) Meaning() string {
	switch c {
	case ExitOK:
		return "nothing is wrong, and the command has left no work"
	case ExitUsage:
		return "usage or configuration error; nothing was touched"
	case ExitWork:
		return "there is work to do, or hosts have drift that their pools only report"
	case ExitFailed:
		return "something failed, an etcd cluster is unhealthy, or it was not safe to continue"
	case ExitRefused:
		return "refused, or left undone because a person asked for it: a hold, another run, a pause, a window, a pool that requires soft reboots, an unfinished roll-out"
	case ExitUnreachable:
		return "hosts are unreachable; all others match"
	case ExitStopped:
		return "a person stopped the command: Ctrl-C, a lost terminal, or \"no\" to a question"
	}
	return "an exit code that this version of holdfast does not know"
}

// NextStep returns the next step of a person after the exit code.
func (c ExitCode) NextStep() string {
	switch c {
	case ExitOK:
		return "none"
	case ExitUsage:
		return "correct the place that the message names (file:line:column)"
	case ExitWork:
		return "read the plan; run holdfast apply, or handle the drift"
	case ExitFailed:
		return "read the failure; hosts that failed stay held, with the reason"
	case ExitRefused:
		return "wait, ask the holder that the message names, or change the inventory"
	case ExitUnreachable:
		return "look at the hosts that the message names"
	case ExitStopped:
		return "run it again at any time; the next run continues"
	}
	return "use the version of holdfast that ended with it"
}

// Worse returns the more serious of two exit codes.
func (c ExitCode) Worse(d ExitCode) ExitCode {
	for _, worst := range []ExitCode{ExitStopped, ExitUsage, ExitFailed, ExitRefused, ExitUnreachable, ExitWork} {
		if c == worst || d == worst {
			return worst
		}
	}
	return ExitOK
}

func (f Findings) exitCode() ExitCode {
	failed := slices.ContainsFunc(f.Failures, func(x Failure) bool { return x.Exit() == ExitFailed })
	switch {
	case f.Stopped:
		return ExitStopped
	case failed, len(f.Refusals) > 0, len(f.UnhealthyClusters) > 0, f.hasExcluded(seriousExclusions()...):
		return ExitFailed
	case len(f.Failures) > 0, len(f.Unfinished) > 0: // the failures are holds
		return ExitRefused
	case len(f.Work) > 0:
		return ExitWork
	case f.hasExcluded(Held, InMaintenance, Paused, Closed, NeedsFullReboot, BlockedDrain), slices.ContainsFunc(f.Excluded, func(x Exclusion) bool { return x.WaitsForHold }):
		return ExitRefused
	case f.hasExcluded(Unreachable, KubernetesAway):
		return ExitUnreachable
	case len(f.Excluded) > 0: // they wait for something, and no host above explains the end
		return ExitFailed
	case len(f.Drift) > 0:
		return ExitWork
	}
	return ExitOK
}

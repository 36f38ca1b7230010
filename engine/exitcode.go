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
	case f.hasExcluded(Held, InMaintenance, Paused, Closed, NeedsFullReboot):
		return ExitRefused
	case f.hasExcluded(Unreachable):
		return ExitUnreachable
	case len(f.Excluded) > 0: // blocked, and no other host gives the reason
		return ExitFailed
	case len(f.Drift) > 0:
		return ExitWork
	}
	return ExitOK
}

package engine

// Failure is one failure on a host, with everything that a person needs to act on it.
type Failure struct {
	Host    string      `json:"host,omitempty"`
	Step    string      `json:"step"`
	Command string      `json:"command,omitempty"`
	Stderr  string      `json:"stderr,omitempty"`
	Cause   string      `json:"cause"`
	Kind    FailureKind `json:"kind,omitempty"`
	Hint    string      `json:"hint,omitempty"` // next step
}

// Error returns the failure in one line.
func (f *Failure) Error() string {
	s := f.Cause
	if f.Step != "" {
		s = f.Step + ": " + s
	}
	if f.Host != "" {
		s = f.Host + ": " + s
	}
	return s
}

// FailureKind is the kind of a failure, which decides the exit code and the reaction of
// callers. Failures of connections have the kinds of package remote, too.
type FailureKind string

// The kinds of failure.
const (
	UnreachableFailure FailureKind = "unreachable" // nothing answers
	HeldFailure        FailureKind = "held"        // somebody else holds the host
	RefusedFailure     FailureKind = "refused"     // the plan is not the one that was approved
	ChangedFailure     FailureKind = "changed"     // the host is not as planned
	FullFailure        FailureKind = "full"        // too little free space; nothing was done
	UnsafeFailure      FailureKind = "unsafe"      // it would not be safe to go on
	JournalFailure     FailureKind = "journal"     // an event cannot be journaled
	StoppedFailure     FailureKind = "stopped"     // the person stopped it
	CannotFailure      FailureKind = "cannot"      // the host refused the change; nothing was changed
	LatencyFailure     FailureKind = "latency"     // staging was stopped to protect etcd
	ActionFailure      FailureKind = "action"      // an action failed, and the host has that on record
)

// Exit returns the exit code that a failure alone ends a run with.
func (f Failure) Exit() ExitCode {
	switch f.Kind {
	case HeldFailure:
		return ExitRefused
	case StoppedFailure:
		return ExitStopped
	}
	return ExitFailed
}

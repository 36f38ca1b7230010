package engine

// Failure is what went wrong on a host, whole enough to act on.
type Failure struct {
	Host    string      `json:"host,omitempty"`
	Step    string      `json:"step"`
	Command string      `json:"command,omitempty"`
	Stderr  string      `json:"stderr,omitempty"`
	Cause   string      `json:"cause"`
	Kind    FailureKind `json:"kind,omitempty"`
	Hint    string      `json:"hint,omitempty"` // what to do
}

// Error gives the failure in one line.
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

// FailureKind is what exit codes and callers tell apart about failures. Those
// of connections have the kinds of package remote, too.
type FailureKind string

// The kinds of failure.
const (
	UnreachableFailure FailureKind = "unreachable" // nothing answers
	HeldFailure        FailureKind = "held"        // somebody else holds the host
	RefusedFailure     FailureKind = "refused"     // the plan is not the one that was approved
	ChangedFailure     FailureKind = "changed"     // the host is not as planned
	FullFailure        FailureKind = "full"        // too little free space; nothing was done
	UnsafeFailure      FailureKind = "unsafe"      // it would not be safe to go on
	JournalFailure     FailureKind = "journal"     // what happens cannot be journaled
	StoppedFailure     FailureKind = "stopped"     // the person stopped it
	CannotFailure      FailureKind = "cannot"      // the host refused the change; nothing was changed
	ActionFailure      FailureKind = "action"      // an action failed, and the host has that on record
)

package engine

// Failure is one failure on a host, with everything that a person needs to
// handle it.
type Failure struct {
	Host    string      `json:"host,omitempty"`
	Step    string      `json:"step"`
	Command string      `json:"command,omitempty"`
	Stderr  string      `json:"stderr,omitempty"`
	Cause   string      `json:"cause"`
	Kind    FailureKind `json:"kind,omitempty"`
	Hint    string      `json:"hint,omitempty"` // next step

	NotBooted  string `json:"-"` // digest of the planned OS, if the host came back with another one, and would again
	NotStarted bool   `json:"-"` // the host or its BMC was not reached or refused the step, so nothing of it has happened there
	LoginLost  bool   `json:"-"` // a new login failed, so a change on probation is undone
	Silent     bool   `json:"-"` // the host does not answer at all, as if it were off or hung
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

// FailureKind is the kind of a failure. It decides the exit code and how
// callers react. Failures of connections have the kinds of package remote.
type FailureKind string

// The kinds of failure.
const (
	UnreachableFailure FailureKind = "unreachable" // the host does not answer
	HeldFailure        FailureKind = "held"        // somebody else holds the host
	RefusedFailure     FailureKind = "refused"     // the plan differs from the approved one
	ChangedFailure     FailureKind = "changed"     // the host differs from the plan
	FullFailure        FailureKind = "full"        // the host has too little free space; nothing was done
	UnsafeFailure      FailureKind = "unsafe"      // the next step would not be safe
	JournalFailure     FailureKind = "journal"     // an event cannot be journaled
	StoppedFailure     FailureKind = "stopped"     // the person stopped the run
	CannotFailure      FailureKind = "cannot"      // the host refused the change; nothing was changed
	LatencyFailure     FailureKind = "latency"     // staging was stopped to protect etcd
	DrainFailure       FailureKind = "drain"       // the pods of the node did not leave, or must not be evicted
	KubernetesFailure  FailureKind = "kubernetes"  // the API of Kubernetes was lost
	ActionFailure      FailureKind = "action"      // an action failed, and the record of the host contains this failure
)

// Exit returns the exit code of a run that ends with this failure alone.
func (f Failure) Exit() ExitCode {
	switch f.Kind {
	case HeldFailure:
		return ExitRefused
	case StoppedFailure:
		return ExitStopped
	default:
		return ExitFailed
	}
}

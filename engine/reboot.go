package engine

// RebootKind is a kind of reboot. "" counts as FullReboot.
type RebootKind string

// The kinds of reboot, the least disruptive first.
const (
	SoftReboot  RebootKind = "soft"  // restarts everything but the kernel, without firmware and boot loader (systemd-soft-reboot.service)
	KexecReboot RebootKind = "kexec" // boots another kernel from the running one, without firmware and boot loader
	FullReboot  RebootKind = "full"  // goes through firmware and boot loader
)

// SharesKernel reports whether the kernel, and so the boot ID of the kernel, stays
// the same in a reboot of this kind.
func (k RebootKind) SharesKernel() bool { return k == SoftReboot }

// Reboot is the reboot that a plan orders for a host.
type Reboot struct {
	Kind   RebootKind `json:"kind"`   // kind of reboot that is ordered
	Reason string     `json:"reason"` // why the reboot has this kind, for people

	// Least is the least kind of reboot that is enough for the changes and possible on the
	// host. The pool may not allow it.
	Least RebootKind `json:"least,omitempty"`

	// Provisional means that the kind may still become FullReboot: the OS is not
	// staged, so its kernel is not known.
	Provisional bool `json:"provisional,omitempty"`
}

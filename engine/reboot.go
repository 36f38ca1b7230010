package engine

// RebootKind is a kind of reboot. "" counts as FullReboot.
type RebootKind string

// The kinds of reboot, the least disruptive first.
const (
	SoftReboot  RebootKind = "soft"  // restarts everything but the kernel, without firmware and boot loader (systemd-soft-reboot.service)
	KexecReboot RebootKind = "kexec" // boots a kernel from the running one, without firmware and boot loader
	FullReboot  RebootKind = "full"  // goes through firmware and boot loader
)

// Exceeds reports whether a reboot of this kind restarts more than one of the other kind.
func (k RebootKind) Exceeds(other RebootKind) bool { return k.rank() > other.rank() }

func (k RebootKind) rank() int {
	switch k {
	case SoftReboot:
		return 0
	case KexecReboot:
		return 1
	case FullReboot:
	}
	return 2
}

// SharesKernel reports whether the kernel, and so the boot ID of the kernel, stays
// the same in a reboot of this kind.
func (k RebootKind) SharesKernel() bool { return k == SoftReboot }

// RebootSetting is the block reboot of a pool: the kinds of reboot that its hosts may
// get. The zero value allows only full reboots.
type RebootSetting struct {
	Soft  SoftRebootMode `json:"soft,omitempty"`  // whether a host may soft reboot
	Kexec KexecMode      `json:"kexec,omitempty"` // whether a host may boot another kernel by a kexec

	// ResetAfter is how long a host may be silent in a reboot before it is reset once through its BMC; missing: it is never reset.
	ResetAfter Duration `json:"reset_after,omitempty"`
}

// HasChoice reports whether the pool allows another kind of reboot beside the full one.
func (s RebootSetting) HasChoice() bool { return s.Soft != NeverSoft || s.Kexec != NeverKexec }

// ResetAfter returns how long a host of the pool may be silent in a reboot before it is reset, or 0 if it is never reset. Only
// a BMC can reset a host.
func (p Pool) ResetAfter(h Host) Duration {
	if h.BMC == nil {
		return 0
	}
	return p.Reboot.ResetAfter
}

// RebootLimit returns how long a reboot of a host of the pool may take, with its reset.
func (p Pool) RebootLimit(h Host) Duration {
	return p.Timeouts.WithDefaults().Reboot + ResetLimit(p.ResetAfter(h))
}

// ResetLimit returns how much longer a reboot may take if the host is reset once it has been silent for the time after. It may
// have answered for as long before, because its shutdown was slow.
func ResetLimit(after Duration) Duration { return 2 * after }

// SoftRebootMode decides whether the hosts of a pool soft reboot.
type SoftRebootMode string

// The modes of soft reboots.
const (
	NeverSoft   SoftRebootMode = ""        // each reboot is a full one
	AutoSoft    SoftRebootMode = "auto"    // a host soft reboots if that is enough and possible, else it reboots in full
	RequireSoft SoftRebootMode = "require" // a host that would need a full reboot is left out
)

// KexecMode decides whether the hosts of a pool kexec.
type KexecMode string

// The modes of kexecs.
const (
	NeverKexec KexecMode = ""     // no reboot is a kexec
	AutoKexec  KexecMode = "auto" // a host kexecs if a soft reboot is not allowed, not enough or not possible, and a kexec is enough and possible
)

// KexecSupport tells whether a host can kexec; if it cannot, why.
type KexecSupport string

// The answers of a host. The first reason counts.
const (
	KexecUnknown   KexecSupport = ""               // the host has not told
	KexecPossible  KexecSupport = "possible"       // nothing shows that a kexec would fail
	KexecContainer KexecSupport = "container"      // the host is a container, whose kernel is that of its machine
	KexecNoKernel  KexecSupport = "no-kernel"      // the kernel that runs has no kexec (CONFIG_KEXEC_CORE)
	KexecDisabled  KexecSupport = "disabled"       // the sysctl kernel.kexec_load_disabled is set until the next boot
	KexecLockdown  KexecSupport = "lockdown"       // the kernel is locked down, as with Secure Boot
	KexecNoTool    KexecSupport = "no-kexec-tools" // the host has no /usr/sbin/kexec
)

// IsKnown reports whether a host may give this answer.
func (s KexecSupport) IsKnown() bool {
	switch s {
	case KexecPossible, KexecContainer, KexecNoKernel, KexecDisabled, KexecLockdown, KexecNoTool:
		return true
	case KexecUnknown:
	}
	return false
}

// KernelStarter is the program that has started the kernel of a host.
type KernelStarter string

// The programs that start a kernel.
const (
	StarterUnknown  KernelStarter = ""            // the host does not tell: only kernels of x86 do
	StartedByKexec  KernelStarter = "kexec"       // the kernel before it, without firmware and boot loader
	StartedByLoader KernelStarter = "boot-loader" // a boot loader, or the firmware itself
)

// Reboot is the reboot that a plan orders for a host.
type Reboot struct {
	Kind   RebootKind `json:"kind"`   // kind of reboot that is ordered
	Reason string     `json:"reason"` // why the reboot has this kind, for people

	// Least is the least kind of reboot that is enough for the changes and possible on the
	// host. The pool may not allow it.
	Least RebootKind `json:"least,omitempty"`

	// Chosen means that the pool allows several kinds; false: it allows only full reboots.
	Chosen bool `json:"chosen,omitempty"`

	// Provisional means that Kind and Least may still become greater: the OS is not
	// staged, so its kernel is not known.
	Provisional bool `json:"provisional,omitempty"`

	// Prepared is the kind of reboot that somebody else has prepared on the host; "": none.
	// This reboot does not use it.
	Prepared RebootKind `json:"prepared,omitempty"`

	// PreparedOS is the digest of the OS that a prepared soft reboot leads into; "": not known.
	PreparedOS string `json:"prepared_os,omitempty"`

	// Survival is the fate of the etcd member; "": it stops, or the host has none.
	Survival  Survival `json:"survival,omitempty"`
	Survivors []string `json:"survivors,omitempty"` // services that run on during the reboot
	Restarts  []string `json:"restarts,omitempty"`  // those of them that are restarted once the host is back

	// ResetAfter is how long the host may be silent before it is reset once; missing: it is never reset.
	ResetAfter Duration `json:"reset_after,omitempty"`
}

// RunsMember reports whether the etcd member of the host runs on during the reboot. Its clients on the bastion reach it through
// the host, and so not before the host is back.
func (r *Reboot) RunsMember() bool {
	return r != nil && r.Kind == SoftReboot && r.Survival != StopsAtReboot
}

// DescribePrepared returns the reboot that somebody else has prepared on the host, and
// the command that undoes that; "" if there is none.
func (r Reboot) DescribePrepared() string {
	switch r.Prepared {
	case SoftReboot:
		into := ""
		if r.PreparedOS != "" {
			into = " into " + ShortDigest(r.PreparedOS)
		}
		return "somebody has prepared a soft reboot" + into + " on it, which ostree admin prepare-soft-reboot --reset 0 undoes"
	case KexecReboot:
		return "somebody has loaded a kernel for a kexec on it, which kexec --unload undoes"
	default:
		return ""
	}
}

// RebootFacts are the facts of a host that decide about the kind of its reboots. The
// host has soft rebooted BootID.SoftReboots times since its kernel has booted.
type RebootFacts struct {
	Systemd      int          `json:"systemd,omitempty"`       // version of systemd; 0: not known
	CountsSoft   bool         `json:"counts_soft,omitempty"`   // systemd counts soft reboots (version 256), so that one can be recognised
	Composefs    bool         `json:"composefs,omitempty"`     // the root file system is a composefs
	Ostree       string       `json:"ostree,omitempty"`        // "ostree" and its version, with every driver; "": not known
	PreparesSoft bool         `json:"prepares_soft,omitempty"` // ostree has prepare-soft-reboot; false also if the inventory does not say that the host has ostree
	KeepsMounts  bool         `json:"keeps_mounts,omitempty"`  // ostree keeps /sysroot, /var and /boot mounted in a soft reboot into the running OS (ostree 2026.1)
	KeepsBoot    bool         `json:"keeps_boot,omitempty"`    // a soft reboot into another OS keeps /boot: it has a partition of its own, or ostree is 2025.5
	ClosesDisk   string       `json:"closes_disk,omitempty"`   // unit that a soft reboot stops, which closes the encrypted disk of the OS; "": none
	RemoteDisk   string       `json:"remote_disk,omitempty"`   // disk of the OS on the network, or the type of its network file system; a soft reboot stops the programs that keep the connection; "": none
	NoOstree     bool         `json:"no_ostree,omitempty"`     // composefs-rs, a backend of bootc, and not ostree, keeps the deployments
	Kexec        KexecSupport `json:"kexec,omitempty"`         // whether the host can kexec

	StartedBy KernelStarter `json:"started_by,omitempty"` // what has started the running kernel; "": not known, as on a host without kexec

	Prepared RebootKind `json:"prepared,omitempty"` // kind of reboot that somebody has prepared, so that systemctl reboot may become this kind; "": none
}

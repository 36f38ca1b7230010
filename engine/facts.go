package engine

import (
	"slices"
	"strings"
	"time"

	"holdfast/engine/kubefacts"
	"holdfast/engine/resource"
)

// Facts is the observed state of one host at one moment.
type Facts struct {
	Host             string                `json:"host"`
	Unreachable      string                `json:"unreachable,omitempty"` // why no other facts are known; "": the host was reached
	Silent           bool                  `json:"silent,omitempty"`      // an unreachable host does not answer at all, as if it were off or hung
	BootID           resource.BootID       `json:"boot_id,omitempty"`
	Clock            time.Time             `json:"clock"`                // time of the host's own clock
	GatheredAt       time.Time             `json:"gathered_at,omitzero"` // time of the bastion's clock when the host reported Clock; zero: not known
	Stopping         bool                  `json:"stopping,omitempty"`   // systemd is shutting the host down
	Deployments      []Deployment          `json:"deployments,omitempty"`
	FreeBytes        int64                 `json:"free_bytes,omitempty"` // free space where the OS is stored
	Tool             string                `json:"tool,omitempty"`       // OS tool and its version
	Features         []string              `json:"features,omitempty"`   // features of that tool, as its driver names them
	Hold             *Hold                 `json:"hold,omitempty"`
	HoldProblem      string                `json:"hold_problem,omitempty"`      // why the hold file cannot be read; such a host counts as held
	LastHold         *LastHold             `json:"last_hold,omitempty"`         // of a host that was not reached: the maintenance hold with which this bastion last saw it
	Unproven         *Hold                 `json:"unproven,omitempty"`          // hold of a run that a person ended before a run saw the host whole again
	Failed           []string              `json:"failed,omitempty"`            // units in the state failed
	Running          []string              `json:"running,omitempty"`           // enabled services that are running
	Unsettled        []string              `json:"unsettled,omitempty"`         // services of a held host that have only just started, or that systemd has to start again
	StageUnit        string                `json:"stage_unit,omitempty"`        // ActiveState of StageUnit; "": the unit is inactive or not loaded
	FinalizeProblem  string                `json:"finalize_problem,omitempty"`  // why the last finalize failed, as the OS tool reports it
	Problems         []string              `json:"problems,omitempty"`          // facts that could not be gathered, each with the reason
	OSProblem        string                `json:"os_problem,omitempty"`        // why the deployments, or which of them is booted, are not known; one of Problems
	BootLacksBytes   int64                 `json:"boot_lacks_bytes,omitempty"`  // bytes that the kernel and the initramfs of the staged OS lack in /boot
	NextBoot         string                `json:"next_boot,omitempty"`         // ID of the deployment that the boot loader starts next, if it is not the booted one
	BootState        string                `json:"boot_state,omitempty"`        // digest of the contents of /boot, if the hold has a NotBooted
	KernelArgs       []string              `json:"kernel_args,omitempty"`       // kernel arguments of this boot, in order, each in one spelling (resource.NormalizeKernelArg)
	BootEntryArgs    []string              `json:"boot_entry_args,omitempty"`   // kernel arguments in the boot loader entry of the booted deployment, as they are written there; only if it has quotes or needs them
	Kernel           string                `json:"kernel,omitempty"`            // release of the running kernel; only asked for if a configuration demands a type of kernel
	StagedArgs       string                `json:"staged_args,omitempty"`       // digest of the changes, if any, to the kernel arguments of the deployment that holdfast has staged; "": it has not staged it to the end
	Config           *resource.ConfigFacts `json:"config,omitempty"`            // nil: not gathered
	Rollout          *Rollout              `json:"rollout,omitempty"`           // the last roll-out that changed, or should have changed, the OS of the host
	RolloutProblem   string                `json:"rollout_problem,omitempty"`   // why Rollout is not trusted
	RolloutSchema    int                   `json:"rollout_schema,omitempty"`    // version of a recorded roll-out that this version of holdfast does not know; 0: it knows the version, or the host has none
	Updated          time.Time             `json:"updated,omitzero"`            // when a run last made the host match, by the later one of the clocks of the host and the bastion
	Rejected         []string              `json:"rejected,omitempty"`          // digests of the OS versions that the host rejects after a rollback
	Etcd             []string              `json:"etcd,omitempty"`              // signs that etcd runs on the host, each as a phrase
	EtcdServers      []string              `json:"etcd_servers,omitempty"`      // services, pods and containers in the network of the host that run a server of etcd as an account of the system
	Inhibitors       []string              `json:"inhibitors,omitempty"`        // who blocks a shutdown of the host, each as systemd-inhibit lists it, or SilentLogind
	Version          string                `json:"version,omitempty"`           // output of the version command of its pool
	Reboots          RebootFacts           `json:"reboots,omitzero"`            // decide about the kind of a reboot
	Node             *kubefacts.NodeState  `json:"node,omitempty"`              // its node, if the host belongs to a Kubernetes cluster and the API was asked
	SurvivalProblems []SurvivalProblem     `json:"survival_problems,omitempty"` // services that are to run on during a soft reboot, and do not
	Survivors        []Survivor            `json:"survivors,omitempty"`         // services that run and that holdfast lets run on during a soft reboot
	ActionFailed     bool                  `json:"-"`                           // an action failed on the host in this play, after the tasks before it were done
	Finished         bool                  `json:"-"`                           // this run has finished the host, so the tasks of a playbook are no longer changes
}

// SilentLogind is in the place of the inhibitors of a host whose logind runs, but does not tell them.
const SilentLogind = "perhaps: systemd-logind does not answer"

// Reached reports whether the facts say anything about the host.
func (f Facts) Reached() bool { return f.Unreachable == "" }

// IsStaging reports whether a unit on the host is staging an OS.
func (f Facts) IsStaging() bool {
	return slices.Contains([]string{"active", "activating", "deactivating", "reloading"}, f.StageUnit)
}

// Rollout is the entry that a host keeps about the roll-out that last disrupted
// it. From it every bastion knows whether that roll-out is finished.
type Rollout struct {
	Run        string            `json:"run"`                  // ID of the run that began the roll-out on the host
	Number     int               `json:"number,omitempty"`     // number of the roll-out at the site, because clocks cannot show which is the newest; 0: it has no number yet
	Targets    map[string]string `json:"targets"`              // OS of each pool of the site, by digest; "": its hosts want different OSes, so the pool is no part of the roll-out
	Supersedes []string          `json:"supersedes,omitempty"` // runs of earlier roll-outs with the same number
}

// RolloutSchema is the version of the JSON in which a host keeps a roll-out. While a host has a roll-out of another version,
// no run begins another OS, because nobody knows whether that roll-out is finished.
const RolloutSchema = 1

// MaxPools is the number of pools that a site, and so a roll-out, has at most.
const MaxPools = 1000

// MaxRollout is the highest number of a roll-out. Roll-outs after it share this
// number. Then Supersedes and the run IDs, which sort by time, decide which is newer.
// A higher number is not trusted.
const MaxRollout = 1_000_000

// MaxSuperseded is the number of runs that Supersedes has at most.
const MaxSuperseded = 32

// Deployment is one OS version on a host's disk.
type Deployment struct {
	Digest   string `json:"digest"` // ostree commit, or image digest (sha256:…)
	Version  string `json:"version,omitempty"`
	ID       string `json:"id,omitempty"` // as the OS tool names it
	Origin   string `json:"origin,omitempty"`
	Booted   bool   `json:"booted,omitempty"`
	Staged   bool   `json:"staged,omitempty"`
	Locked   bool   `json:"locked,omitempty"` // staged, and its finalization is locked: a reboot boots the old version again
	Rollback bool   `json:"rollback,omitempty"`
	Pinned   bool   `json:"pinned,omitempty"`
	Etcd     string `json:"etcd,omitempty"` // version of etcd in it, if the deployment is staged and the host runs the etcd of its OS

	SoftTarget bool `json:"soft_target,omitempty"` // somebody has prepared a soft reboot into it

	// NoSoftTarget means that the deployment is staged, and that bootc does not report that
	// the host can soft reboot into it.
	NoSoftTarget bool `json:"no_soft_target,omitempty"`

	// Compared means that the deployment is staged, and that the parts of its tree that
	// rules.OSParts names were compared with the booted deployment. Differs has the paths
	// of those that differ.
	Compared bool     `json:"compared,omitempty"`
	Differs  []string `json:"differs,omitempty"`
}

// ShortDigest returns a short name of an OS for people: the first 12
// hexadecimal digits of its digest, after "sha256:" if the OS is an image. The
// name depends only on the digest, so a change has the same name before and
// after its OS is staged.
func ShortDigest(digest string) string {
	prefix := ""
	if rest, ok := strings.CutPrefix(digest, "sha256:"); ok {
		prefix, digest = "sha256:", rest
	}
	return prefix + digest[:min(12, len(digest))]
}

// Booted returns the deployment that the host runs, or nil.
func (f Facts) Booted() *Deployment {
	return f.findDeployment(func(d Deployment) bool { return d.Booted })
}

// Staged returns the deployment that takes effect at the next reboot, or nil.
func (f Facts) Staged() *Deployment {
	return f.findDeployment(func(d Deployment) bool { return d.Staged })
}

// SoftTarget returns the digest of the deployment that a prepared soft reboot leads
// into; "" if there is none, or it is not known.
func (f Facts) SoftTarget() string {
	if d := f.findDeployment(func(d Deployment) bool { return d.SoftTarget }); d != nil {
		return d.Digest
	}
	return ""
}

// Ready reports whether the deployment with this digest and these kernel
// arguments is staged and locked, so that only the finalize is missing. args
// has the form of StagedArgs.
func (f Facts) Ready(digest, args string) bool {
	d := f.Staged()
	return d != nil && d.Digest == digest && d.Locked && f.StagedArgs == args
}

func (f Facts) findDeployment(is func(Deployment) bool) *Deployment {
	for i := range f.Deployments {
		if is(f.Deployments[i]) {
			return &f.Deployments[i]
		}
	}
	return nil
}

// WithRunning returns the facts with these services among the running ones, so
// that the run waits for them.
func (f Facts) WithRunning(services []string) Facts {
	if len(services) == 0 {
		return f
	}
	lacks := func(u string) bool { return slices.Contains(services, u) }
	f.Failed = slices.DeleteFunc(slices.Clone(f.Failed), lacks)
	f.Running = append(slices.DeleteFunc(slices.Clone(f.Running), lacks), services...)
	return f
}

// After reports whether the roll-out r began after other, or other is nil. The
// roll-out of the given run is the newest. The numbers of the others decide,
// because the clocks of bastions differ. With equal numbers a roll-out that was
// begun over the other one is newer, else the run IDs decide, which sort by
// those clocks.
func (r *Rollout) After(other *Rollout, run string) bool {
	switch {
	case other == nil:
		return true
	case r.Run == run || other.Run == run:
		return other.Run != run
	case r.Number != other.Number:
		return r.Number > other.Number
	case slices.Contains(r.Supersedes, other.Run) != slices.Contains(other.Supersedes, r.Run):
		return slices.Contains(r.Supersedes, other.Run)
	}
	return r.Run > other.Run
}

package engine

import (
	"slices"
	"strings"
	"time"
)

// Facts is the observed state of one host at one moment.
type Facts struct {
	Host           string       `json:"host"`
	Unreachable    string       `json:"unreachable,omitempty"` // why nothing else is known; "" if the host was reached
	BootID         string       `json:"boot_id,omitempty"`
	Clock          time.Time    `json:"clock"`              // the host's own clock
	GatheredAt     time.Time    `json:"looked,omitzero"`    // the bastion's clock when the host told its own; zero: not known
	Stopping       bool         `json:"stopping,omitempty"` // systemd is shutting the host down
	Deployments    []Deployment `json:"deployments,omitempty"`
	FreeBytes      int64        `json:"free_bytes,omitempty"` // where the OS is stored
	Tool           string       `json:"tool,omitempty"`       // OS tool and version
	Features       []string     `json:"features,omitempty"`   // features of that tool, as its driver names them
	Hold           *Hold        `json:"hold,omitempty"`
	HoldProblem    string       `json:"hold_problem,omitempty"`    // a hold file that cannot be read; the host counts as held
	Failed         []string     `json:"failed,omitempty"`          // units in state failed
	Running        []string     `json:"running,omitempty"`         // enabled services that run
	StageUnit      string       `json:"stage_unit,omitempty"`      // ActiveState of StageUnit, "" if it is not loaded
	FinalizeErr    string       `json:"finalize_err,omitempty"`    // why the last finalize failed, as the OS tool reports it
	Problems       []string     `json:"problems,omitempty"`        // facts that could not be gathered, and why
	CmdLine        []string     `json:"cmdline,omitempty"`         // kernel arguments of this boot, in order
	StagedArgs     string       `json:"staged_args,omitempty"`     // digest of the changes by holdfast to the arguments of the staged deployment
	Config         *ConfigFacts `json:"config,omitempty"`          // nil: not gathered
	Rollout        *Rollout     `json:"rollout,omitempty"`         // the last roll-out that changed its OS, or should have
	RolloutProblem string       `json:"rollout_problem,omitempty"` // why Rollout is not trusted
	Updated        time.Time    `json:"updated,omitzero"`          // when a run last made it match, by the clock of the host
	Rejected       []string     `json:"rejected,omitempty"`        // digests of the OS from which the host was rolled back
	Etcd           []string     `json:"etcd,omitempty"`            // signs that etcd runs on it, a phrase each
	Version        string       `json:"version,omitempty"`         // output of its pool's version command
	ActionFailed   bool         `json:"-"`                         // an action failed there in this play, after the tasks before it were done
	Finished       bool         `json:"-"`                         // this run has finished the host, so tasks of a playbook are no longer changes
}

// Reached reports whether the facts say anything about the host.
func (f Facts) Reached() bool { return f.Unreachable == "" }

// Rollout is the entry that a host keeps of the roll-out that last disrupted it, so that
// every bastion knows whether that roll-out is finished.
type Rollout struct {
	Run     string            `json:"run"`              // run that began it there
	Number  int               `json:"number,omitempty"` // counts the roll-outs of the site, because clocks cannot show which is the newest; 0: not counted yet
	Targets map[string]string `json:"targets"`          // OS of each pool of the site, by digest
}

// MaxRollout is the highest number that a roll-out gets. From there on IDs of runs,
// which sort by time, say which is newer. A higher number is not trusted.
const MaxRollout = 1_000_000

// Deployment is one OS version on a host's disk.
type Deployment struct {
	Digest   string   `json:"digest"` // ostree commit, or image digest (sha256:…)
	Version  string   `json:"version,omitempty"`
	ID       string   `json:"id,omitempty"` // as the OS tool names it
	Origin   string   `json:"origin,omitempty"`
	Booted   bool     `json:"booted,omitempty"`
	Staged   bool     `json:"staged,omitempty"`
	Locked   bool     `json:"locked,omitempty"` // staged, but finalization is locked: a reboot keeps the old version
	Rollback bool     `json:"rollback,omitempty"`
	Pinned   bool     `json:"pinned,omitempty"`
	Kargs    []string `json:"kargs,omitempty"`
	Etcd     string   `json:"etcd,omitempty"` // version of etcd in it, if it is staged and the host runs the etcd of its OS
}

// ShortDigest returns a short name of an OS for people: the first 12 hexadecimal digits
// of its digest, after "sha256:" if it is an image. It depends only on the digest, so
// that a change has the same name before and after its OS is staged.
func ShortDigest(digest string) string {
	prefix := ""
	if rest, ok := strings.CutPrefix(digest, "sha256:"); ok {
		prefix, digest = "sha256:", rest
	}
	return prefix + digest[:min(12, len(digest))]
}

// Booted returns the deployment the host runs, or nil.
func (f Facts) Booted() *Deployment {
	return f.findDeployment(func(d Deployment) bool { return d.Booted })
}

// Staged returns the deployment that is to take effect at the next reboot, or nil.
func (f Facts) Staged() *Deployment {
	return f.findDeployment(func(d Deployment) bool { return d.Staged })
}

// Ready reports whether the deployment of that digest is staged and locked,
// with those kernel arguments (as in StagedArgs; "": the booted ones), so that
// nothing but a finalize is missing.
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

// WithRunning returns the facts as if these services ran, so that the run waits for
// them.
func (f Facts) WithRunning(services []string) Facts {
	if len(services) == 0 {
		return f
	}
	lacks := func(u string) bool { return slices.Contains(services, u) }
	f.Failed = slices.DeleteFunc(slices.Clone(f.Failed), lacks)
	f.Running = append(slices.DeleteFunc(slices.Clone(f.Running), lacks), services...)
	return f
}

// After reports whether a roll-out began after another, or there is no other. The
// roll-out of the given run is the newest. Others have numbers, because the clocks of
// bastions differ. With equal numbers the IDs decide, which sort by those clocks.
func (r *Rollout) After(other *Rollout, run string) bool {
	switch {
	case other == nil:
		return true
	case r.Run == run || other.Run == run:
		return other.Run != run
	case r.Number != other.Number:
		return r.Number > other.Number
	}
	return r.Run > other.Run
}

// ConfigFacts is the observed state of every path, unit, user and group that the
// desired, the recorded or the unfinished configuration names.
type ConfigFacts struct {
	Applied  *Record              `json:"applied,omitempty"`  // nil: nothing was recorded
	Problem  string               `json:"problem,omitempty"`  // why nothing may be written: a record that cannot be read, a tool that is missing
	Nodes    map[string]PathFacts `json:"nodes,omitempty"`    // by path; PathMissing where there is nothing
	Saved    map[string]bool      `json:"saved,omitempty"`    // paths whose originals are kept
	Units    map[string]string    `json:"units,omitempty"`    // by name, the output of systemctl is-enabled
	Users    map[string]Login     `json:"users,omitempty"`    // by name; those there are
	Groups   map[string]int       `json:"groups,omitempty"`   // GID by name; those there are
	KeyDir   bool                 `json:"key_dir,omitempty"`  // sshd reads ~/.ssh/authorized_keys.d, so SSH keys go there
	Links    map[string]string    `json:"links,omitempty"`    // directories on the way to Nodes that are symbolic links, and their targets
	Fleeting []string             `json:"fleeting,omitempty"` // directories on the way to Nodes that are lost when the host reboots
}

// PathFacts is an entry of a host's file system.
type PathFacts struct {
	Type     PathType `json:"type"`
	Digest   string   `json:"digest,omitempty"` // of a file: SHA-256, hexadecimal; "large" of one from 100 MB on
	Target   string   `json:"target,omitempty"` // of a symbolic link
	Mode     int      `json:"mode"`             // permission bits, with setuid, setgid and sticky
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	User     string   `json:"user,omitempty"` // names, where the host knows them
	Group    string   `json:"group,omitempty"`
	Inode    string   `json:"inode,omitempty"` // device and inode: the same for hard links of each other
	Contents []byte   `json:"-"`               // of the few files whose contents a plan depends on
	Base     []byte   `json:"-"`               // of a file that something is appended to: its original, if one is kept
}

// PathType is a kind of Node.
type PathType string

// The kinds of nodes.
const (
	PathMissing   PathType = ""
	PathFile      PathType = "file"
	PathDirectory PathType = "directory"
	PathLink      PathType = "link"
	PathOther     PathType = "other"
)

// Login is an account of a host.
type Login struct {
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	Group    string   `json:"group,omitempty"`  // primary
	Groups   []string `json:"groups,omitempty"` // supplementary, without the primary one
	Gecos    string   `json:"gecos,omitempty"`
	Home     string   `json:"home,omitempty"`
	Shell    string   `json:"shell,omitempty"`
	Password string   `json:"password,omitempty"` // Digest of the hash in shadow
	Keys     []string `json:"keys,omitempty"`     // SSH keys, a line each, that holdfast or Ignition keeps there
	Expires  string   `json:"expires,omitempty"`  // day of its expiry as in shadow; "": never
	Connects bool     `json:"connects,omitempty"` // it is the account that holdfast logs in as

	// OtherKeys and Sessions count its other SSH keys and its sessions, where that
	// matters: of the account that holdfast logs in as, and of those that leave the
	// configuration.
	OtherKeys int `json:"other_keys,omitempty"`
	Sessions  int `json:"sessions,omitempty"`
}

// RetiredExpiry is the day of expiry of an account that holdfast has locked:
// the first after 1970-01-01 that shadow understands.
const RetiredExpiry = "1"

// Retired reports whether the account is locked as holdfast does it.
func (l Login) Retired() bool { return l.Expires == RetiredExpiry }

package engine

import (
	"encoding/json"
	"slices"
	"time"
)

// Step is one thing a run does, as a value: it can be printed, saved and
// compared. The only interpreter is engine/rollout.
type Step struct {
	Name    string   `json:"name"`
	On      string   `json:"on"` // host, etcd cluster or Bastion
	Do      Op       `json:"do"`
	Timeout Duration `json:"timeout"`
	Reboots bool     `json:"reboots,omitempty"` // it orders the host to reboot, which ends the connection, so its exit status means nothing

	Stages bool `json:"stages,omitempty"` // it stages the OS while the host keeps running

	// ChangesHost marks a step that changes the host. A
	// host that fails before the first of them is given back; one that fails
	// later stays held.
	ChangesHost bool `json:"disturbs,omitempty"`
}

// Bastion is the machine holdfast runs on, as the place of a step.
const Bastion = "bastion"

// Op is the operation of a step. Exactly one field is set.
type Op struct {
	Exec       *Exec       `json:"exec,omitempty"`
	Command    *Local      `json:"command,omitempty"`
	Gate       *Gate       `json:"gate,omitempty"`
	Pause      *Pause      `json:"pause,omitempty"`
	TakeHold   *TakeHold   `json:"take_hold,omitempty"`
	Release    *Release    `json:"release,omitempty"`
	Quorum     *Quorum     `json:"quorum,omitempty"`
	Budget     *Budget     `json:"budget,omitempty"`
	MoveLeader *MoveLeader `json:"move_leader,omitempty"`
	Snapshot   *Snapshot   `json:"snapshot,omitempty"`
	AwaitBoot  *AwaitBoot  `json:"await_boot,omitempty"`
	AwaitUnits *AwaitUnits `json:"await_units,omitempty"`
	AwaitEtcd  *AwaitEtcd  `json:"await_etcd,omitempty"`
	Defragment *Defragment `json:"defragment,omitempty"`
}

// Exec runs a script on the host, as root.
type Exec struct {
	Script  string   `json:"script"`            // POSIX sh
	Abort   string   `json:"abort,omitempty"`   // ends processes that an interrupted Script left running on the host
	Uploads []Upload `json:"uploads,omitempty"` // files for the script, in a tar archive that is its standard input

	// Content is the OS that the script fetches from the bastion; nil: it fetches nothing there.
	Content *Content `json:"content,omitempty"`

	// Once means that the script is not repeated if its answer is lost. Scripts that
	// disturb nothing are.
	Once bool `json:"once,omitempty"`

	// Display is the command of the playbook that the script runs; "" if the script
	// is holdfast's own.
	Display string `json:"what,omitempty"`

	// Fallback means that a reboot replaces an action that fails (ScriptActed). The
	// next plan of the host has that reboot.
	Fallback bool `json:"fallback,omitempty"`
}

// Content is an OS that a host fetches from the mirror of the bastion. The script gets the
// variable port, which has the port of 127.0.0.1 where the mirror answers.
type Content struct {
	Commit string `json:"commit,omitempty"` // ostree commit of the OS
	Image  string `json:"image,omitempty"`  // digest of the container image of the OS, in place of a commit
	Have   string `json:"have,omitempty"`   // commit or digest that the host has: only the difference is transferred
}

// Digest returns the commit or the digest of the image.
func (c Content) Digest() string { return c.Commit + c.Image }

// DisplayText returns the text that people see: Display, else the whole script.
func (x Exec) DisplayText() string {
	if x.Display != "" {
		return x.Display
	}
	return x.Script
}

// Upload is a file that a script needs. Its data may be secret and are in no
// output.
type Upload struct {
	Name string // plain, without a slash
	Data []byte
}

// MarshalJSON writes the name and size of the file, and none of its data.
func (u Upload) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}{u.Name, len(u.Data)})
}

// Local runs a command on the bastion with sh.
type Local struct {
	Command string `json:"command"`
	Undo    string `json:"undo,omitempty"` // undoes the command, if the run stops before the reboot
}

// Pause waits for that long.
type Pause struct {
	For Duration `json:"for"`
}

// Defragment returns unused space of the host's etcd member to the file system. The
// member does not answer meanwhile.
type Defragment struct {
	Cluster string `json:"cluster"`
}

// TakeHold takes the host's hold for the run, or adopts the hold of a dead run.
type TakeHold struct {
	Reason     string   `json:"reason"`
	For        Duration `json:"for"`             // how long it lasts
	Adopt      string   `json:"adopt,omitempty"` // run whose hold is replaced: dead, or expired
	PreviousOS string   `json:"from,omitempty"`  // digest of the OS that the host ran before, if this run or a dead run brings another

	Renewed time.Time `json:"seen,omitzero"` // last renewal of the hold to adopt; a hold that was renewed after it is not replaced

	Targets       map[string]string `json:"targets,omitempty"` // of the roll-out that begins here: the OS of each pool, by digest. The host keeps them
	RolloutRun    string            `json:"began,omitempty"`   // the first run of that roll-out, which the host keeps, too
	RolloutNumber int               `json:"number,omitempty"`  // of that roll-out, which the host keeps, too
}

// Release ends the run's hold.
type Release struct {
	Updated bool `json:"updated,omitempty"` // the host matches, and records the time

	// Accepts is the OS that the host runs and was once rolled back from: it
	// leaves those that failed there, unless the host has booted since BootID
	// ("": it does not matter). Only with Updated.
	Accepts string `json:"accepts,omitempty"`
	BootID  string `json:"boot_id,omitempty"`
}

// Quorum checks, with the hold taken, that the cluster may lose the host now,
// and that no other member is held by anybody.
type Quorum struct {
	Cluster string `json:"cluster"`

	// Down says that the host's own member may be down: the run may have stopped
	// it since it took the hold, or the operator allowed it.
	Down bool `json:"down,omitempty"`
}

// Budget checks, with the hold taken, that the budgets of the pool and of the site still
// allow the batch, including the hosts that others have taken meanwhile.
type Budget struct {
	Pool string `json:"pool"`
}

// MoveLeader moves etcd leadership off the host and checks that it has moved.
type MoveLeader struct {
	Cluster string `json:"cluster"`
}

// Snapshot saves the cluster's data to the bastion and checks its hash.
type Snapshot struct {
	Cluster string `json:"cluster"`
}

// AwaitBoot waits until SSH answers from another boot than BootID, and then demands that
// the booted deployment is Digest ("": any). Without a BootID, when it is not known
// beforehand, it takes the boot in which the host is first observed with another OS than
// Digest; a host that runs Digest has rebooted.
type AwaitBoot struct {
	BootID string `json:"boot_id"`
	Digest string `json:"digest,omitempty"`
}

// AwaitUnits waits until every service in Running runs again and no unit has
// failed but those in Failed, which had failed before.
type AwaitUnits struct {
	Running []string `json:"running,omitempty"`
	Failed  []string `json:"failed,omitempty"`
}

// AwaitEtcd waits until the host's member is a healthy voter that has caught
// up, and the whole cluster is healthy.
type AwaitEtcd struct {
	Cluster string `json:"cluster"`
}

// StepKind is the kind of a step for those who follow a run, so that nobody guesses it
// from the step's name.
type StepKind string

// The kinds of step that matter to who follows a run.
const (
	StageStep   StepKind = "stage"      // puts the next OS on the host, which keeps running
	HoldStep    StepKind = "hold"       // takes the host's hold
	ReleaseStep StepKind = "release"    // ends it
	RebootStep  StepKind = "reboot"     // orders the host to reboot
	BootStep    StepKind = "await-boot" // waits until the host answers from another boot
	EtcdStep    StepKind = "await-etcd" // waits until the host's etcd member is back
	DefragStep  StepKind = "defragment" // the etcd member of the host does not answer meanwhile
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
	case s.Do.Release != nil:
		return ReleaseStep
	case s.Do.AwaitBoot != nil:
		return BootStep
	case s.Do.AwaitEtcd != nil:
		return EtcdStep
	case s.Do.Defragment != nil:
		return DefragStep
	}
	return ""
}

// MarkStaging returns the steps, marked as steps of staging.
func MarkStaging(steps []Step) []Step {
	marked := slices.Clone(steps)
	for i := range marked {
		marked[i].Stages = true
	}
	return marked
}

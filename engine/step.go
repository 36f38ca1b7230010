package engine

import (
	"encoding/json"
	"time"

	"holdfast/engine/resource"
)

// Step is one element of a sequence, as a value: code can print, save and
// compare it. Only engine/rollout carries steps out.
type Step struct {
	Name    string   `json:"name"`
	On      string   `json:"on,omitempty"` // host, etcd cluster or Bastion
	Do      Op       `json:"do"`
	Timeout Duration `json:"timeout"`
	Reboots bool     `json:"reboots,omitempty"` // the step orders the host to reboot. The reboot ends the connection, so the exit status of the step means nothing

	Stages bool `json:"stages,omitempty"` // the step stages the OS while the host keeps running

	// ChangesHost marks a step that changes the host. If the host fails before
	// the first such step, the run releases it. If the host fails later, it
	// stays held.
	ChangesHost bool `json:"changes_host,omitempty"`

	MayFail bool `json:"may_fail,omitempty"` // of maintenance: a failure is a warning, and the next step follows

	Undo *Step `json:"undo,omitempty"` // step that undoes this one, if the run gives up before the reboot
}

// UndoText returns the command of the step that undoes this one, for people; "" if
// nothing undoes it.
func (s Step) UndoText() string {
	switch {
	case s.Undo == nil:
		return ""
	case s.Undo.Do.Command != nil:
		return s.Undo.Do.Command.Command
	case s.Undo.Do.UndrainNode != nil:
		return "kubectl uncordon " + s.Undo.Do.UndrainNode.Node
	}
	return s.Undo.Name
}

// Bastion is the place of a step that runs on the machine where holdfast runs.
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
	AwaitNode  *AwaitNode  `json:"await_node,omitempty"`
	DrainNode  *DrainNode  `json:"drain_node,omitempty"`
	Defragment *Defragment `json:"defragment,omitempty"`
	ProveLogin *ProveLogin `json:"prove_login,omitempty"`

	UndrainNode *UndrainNode `json:"undrain_node,omitempty"`

	RestartSurvivors *RestartSurvivors `json:"restart_survivors,omitempty"`

	// The operations below are for people, who hold and release hosts.

	ExtendHold    *ExtendHold   `json:"extend_hold,omitempty"`     // give a maintenance hold a later end
	EndHold       *EndHold      `json:"end_hold,omitempty"`        // end a hold for a person
	NoteDrain     *NoteDrain    `json:"note_drain,omitempty"`      // write a drain into the hold of a person
	StayOff       *StayOff      `json:"stay_off,omitempty"`        // keep the power of a host off after a power cut
	PowerAsBefore *PowerKeeping `json:"power_as_before,omitempty"` // undo StayOff
	AwaitAnswer   *AwaitAnswer  `json:"await_answer,omitempty"`    // wait until a host answers that was switched on
	ShutDown      *ShutDown     `json:"shut_down,omitempty"`       // shut a host down that a person holds
	SwitchPower   *SwitchPower  `json:"switch_power,omitempty"`    // switch the power of a host
	AcceptUnits   *AcceptUnits  `json:"accept_units,omitempty"`    // accept the units of a host without a hold
}

// Exec runs a script on the host, as root.
type Exec struct {
	Script  Script   `json:"script"`
	Abort   Script   `json:"abort,omitempty"`   // script that ends the processes which an interrupted Script left on the host
	Uploads []Upload `json:"uploads,omitempty"` // files for the script; its standard input is a tar archive with them

	// Content is the OS that the script fetches from the bastion; nil: the
	// script fetches nothing from the bastion.
	Content *Content `json:"content,omitempty"`

	// Once means that the script is not repeated if its answer is lost. Scripts
	// without Once do no harm when they run twice.
	Once bool `json:"once,omitempty"`

	// Display is the command of the playbook that the script runs; "" if the script
	// is holdfast's own.
	Display string `json:"display,omitempty"`

	// Fallback means that a reboot replaces an action that fails (hostscript.ScriptActionFailed).
	// The next plan of the host contains that reboot.
	Fallback bool `json:"fallback,omitempty"`

	// Probation means that the host undoes the change of the script unless the next
	// ProveLogin confirms it in time.
	Probation bool `json:"probation,omitempty"`
}

// Content is an OS that a host fetches from the mirror of the bastion. The
// script has the variable port: on that port of 127.0.0.1 the mirror answers.
type Content struct {
	Commit string `json:"commit,omitempty"` // ostree commit of the OS
	Image  string `json:"image,omitempty"`  // digest of the container image of the OS, in place of a commit
	Have   string `json:"have,omitempty"`   // commit or digest that the host already has; only the difference is transferred
}

// DisplayText returns the text for people: Display, else the whole script.
func (x Exec) DisplayText() string {
	if x.Display != "" {
		return x.Display
	}
	return x.Script.String()
}

// Upload is a file that a script needs. Its data may be secret, so no output
// contains them.
type Upload struct {
	Name string // file name without a slash
	Data []byte
}

// MarshalJSON writes the name and the size of the file, and never its data.
func (u Upload) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Name  string `json:"name"`
		Bytes int    `json:"bytes"`
	}{u.Name, len(u.Data)})
}

// Local runs a command on the bastion with sh.
type Local struct {
	Command string `json:"command"`
}

// Pause waits for a time.
type Pause struct {
	For Duration `json:"for"`
}

// Defragment returns unused space of the host's etcd member to the file system.
// The member does not answer during the defragmentation.
type Defragment struct {
	Cluster string `json:"cluster"`
}

// ProveLogin logs in to the host on a new connection, and becomes root there. So it
// proves that the change before it, which is on probation, has left the account of
// the run its way in and its way to root. If the login fails, the change is undone
// through the connection that was open before; without that connection, the host
// undoes the change by itself.
type ProveLogin struct {
	Confirm Script `json:"confirm"` // script that ends the probation, on the new connection
	Undo    Script `json:"undo"`    // script that undoes the change, on the old connection. It exits with 0 if the change was confirmed, and with hostscript.ScriptCannot if the change is undone
}

// TakeHold takes the host's hold for the run, or adopts the hold of a dead run.
type TakeHold struct {
	Reason     string     `json:"reason"`
	For        Duration   `json:"for"`                   // how long the hold lasts
	Adopt      string     `json:"adopt,omitempty"`       // run whose hold is replaced: a dead run, or a run whose hold has expired
	Kind       HoldKind   `json:"kind,omitempty"`        // missing: the hold of a run
	Ticket     string     `json:"ticket,omitempty"`      // of a maintenance hold
	Drain      *HoldDrain `json:"drain,omitempty"`       // of a maintenance hold: the drain that follows
	PreviousOS string     `json:"previous_os,omitempty"` // digest of the OS before the roll-out, if this run or a dead run brings another OS

	Renewed time.Time `json:"renewed,omitzero"` // last renewal of the hold to adopt; a hold that was renewed later is not replaced

	Digest string `json:"digest,omitempty"` // digest of the hold file that is written again; missing: the host may have another hold of the run

	Rollout *Rollout `json:"rollout,omitempty"` // roll-out that the host records; missing: the sequence brings no other OS
}

// Release ends the run's hold.
type Release struct {
	Updated bool `json:"updated,omitempty"` // the host matches, and records the time
	Whole   bool `json:"whole,omitempty"`   // the host is whole again, as far as its hold tells how it was before; Updated includes this

	// Accepts is the OS that the host runs, although the host was once rolled
	// back from this OS: the host no longer rejects it. This does not happen if
	// the host has booted since BootID ("": boots are not compared). Accepts
	// needs Updated.
	Accepts string          `json:"accepts,omitempty"`
	BootID  resource.BootID `json:"boot_id,omitempty"`
}

// Quorum checks, under the hold of the host, that the cluster may lose the host
// now, and that nobody holds another member.
type Quorum struct {
	Cluster string `json:"cluster"`

	// Down means that the host's own member may be down: the run may have
	// stopped the member under its hold, or the operator allowed it.
	Down bool `json:"down,omitempty"`

	// RunsOn means that the member does not stop, so a cluster of one or two voters keeps its quorum.
	RunsOn bool `json:"runs_on,omitempty"`
}

// Budget checks, under the hold of the host, that the budgets of the pool and
// of the site still allow the batch. Hosts that others have held since the plan
// count.
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

// AwaitBoot waits until SSH answers from another boot than BootID. It then
// requires that the booted deployment is Digest ("": any). Where the boot ID is
// not known in advance, BootID is "". Then AwaitBoot uses the boot in which the
// host first shows another OS than Digest, and a host that runs Digest has
// rebooted. Kind is the kind of reboot that was ordered. After a full reboot or a
// kexec, the kernel must have booted, too. A soft reboot is also over when the
// kernel has booted, because a full reboot has the same effect.
type AwaitBoot struct {
	BootID resource.BootID `json:"boot_id"`
	Digest string          `json:"digest,omitempty"`
	Kept   bool            `json:"kept,omitempty"` // the OS of this digest was deployed before the reboot, too
	Kind   RebootKind      `json:"kind,omitempty"` // "": a full reboot

	ResetAfter Duration `json:"reset_after,omitempty"` // how long the host may be silent before it is reset once; missing: it is never reset
}

// AwaitUnits waits until every service in RunningUnits runs again and no unit has
// failed, except the units in FailedUnits, which had failed before.
type AwaitUnits struct {
	RunningUnits []string `json:"running_units,omitempty"`
	FailedUnits  []string `json:"failed_units,omitempty"`
}

// AwaitEtcd waits until the host's member is a healthy voter that has caught up, and the whole cluster is healthy.
type AwaitEtcd struct {
	Cluster string `json:"cluster"`
}

package engine

// MaintenanceAction is the work of a person on holds.
type MaintenanceAction string

// The actions.
const (
	HoldHosts     MaintenanceAction = "hold"        // takes maintenance holds
	ExtendHolds   MaintenanceAction = "extend"      // gives maintenance holds a later end
	PowerHostsOn  MaintenanceAction = "power-on"    // switches the power of hosts on
	PowerHostsOff MaintenanceAction = "power-off"   // shuts hosts down, or switches their power off
	ResetHosts    MaintenanceAction = "power-reset" // restarts hosts without a shutdown
	ReleaseHosts  MaintenanceAction = "release"     // ends holds, or accepts the units of hosts without a hold
)

// MaintenancePlan is the work that a person has asked for, on each of the hosts.
type MaintenancePlan struct {
	Action MaintenanceAction `json:"action"`          // work that the person has asked for
	Hosts  []HostMaintenance `json:"hosts,omitempty"` // work on each of the hosts

	Notices []MaintenanceNotice `json:"notices,omitempty"` // to know before hosts are held
}

// MaintenanceNotice tells a person who holds hosts about the site.
type MaintenanceNotice struct {
	Kind  NoticeKind `json:"kind"`            // kind of notice
	Run   string     `json:"run,omitempty"`   // ID of the run that it is about
	Hosts []string   `json:"hosts,omitempty"` // hosts that it is about
	Text  string     `json:"text"`            // a sentence for people
}

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	RunUnderWay       NoticeKind = "run-under-way"      // a run, of any bastion, works on hosts of the site
	RunUnfinished     NoticeKind = "run-unfinished"     // a run has left holds: it failed, has ended, or its hold has expired
	StagingUnderWay   NoticeKind = "staging-under-way"  // an OS is being staged, by a run of any bastion
	UnfinishedRollout NoticeKind = "unfinished-rollout" // the last roll-out has not reached every host
	QuorumAtRisk      NoticeKind = "quorum-at-risk"     // an etcd cluster has no voter to spare without the hosts
	DrainAtRisk       NoticeKind = "drain-at-risk"      // something may stop the drain of a host
)

// HostMaintenance is the work on one host. A host with a failure has no steps.
type HostMaintenance struct {
	Host       string   `json:"host"`
	Found      string   `json:"found,omitempty"`      // the hold before the steps, for people
	Unreadable bool     `json:"unreadable,omitempty"` // the hold cannot be read, and the steps end it
	Steps      []Step   `json:"steps,omitempty"`      // steps in order; missing: nothing is to do
	Undo       []Step   `json:"undo,omitempty"`       // steps that give the host back if its drain fails
	Remains    string   `json:"remains,omitempty"`    // state of the host after a step that failed, and the next step, for people
	Message    string   `json:"message,omitempty"`    // outcome after the steps
	Failure    *Failure `json:"failure,omitempty"`    // why nothing is done on the host

	Under HoldOwner `json:"under,omitzero"` // owner of the hold under which the steps work; missing: this run
}

// ExtendHold gives a maintenance hold a later end, and perhaps another reason.
type ExtendHold struct {
	Hold   Hold     `json:"hold"`   // the hold of the host, with its reason and ticket from now on
	For    Duration `json:"for"`    // how long it lasts from now
	Digest string   `json:"digest"` // digest of the hold file that was read; another hold is not extended
}

// EndHold ends the hold of a host for a person. Without a digest and a run, it ends the hold of this run.
type EndHold struct {
	Digest      string `json:"digest,omitempty"`       // digest of the hold file that the person has seen; another hold is not ended
	Run         string `json:"run,omitempty"`          // run of the hold, if the person has not seen the hold file
	Bastion     string `json:"bastion,omitempty"`      // identity of the bastion of that run
	AcceptUnits bool   `json:"accept_units,omitempty"` // the units of the host are accepted as they are, although the hold of a run has another state of them
}

// AcceptUnits accepts the units of a host without a hold as they are, although
// a person ended the hold of a run before a run saw the host whole again.
type AcceptUnits struct{}

package engine

// MaintenanceAction is the work of a person on holds.
type MaintenanceAction string

// The actions.
const (
	HoldHosts    MaintenanceAction = "hold"    // takes maintenance holds
	ExtendHolds  MaintenanceAction = "extend"  // gives maintenance holds a later end
	ReleaseHosts MaintenanceAction = "release" // ends holds, or accepts the units of hosts without a hold
)

// MaintenancePlan is the work that a person has asked for, on each of the hosts.
type MaintenancePlan struct {
	Action MaintenanceAction `json:"action"`          // work that the person has asked for
	Hosts  []HostMaintenance `json:"hosts,omitempty"` // work on each of the hosts
}

// HostMaintenance is the work on one host. A host with a failure has no steps.
type HostMaintenance struct {
	Host       string   `json:"host"`
	Found      string   `json:"found,omitempty"`      // the hold before the steps, for people
	Unreadable bool     `json:"unreadable,omitempty"` // the hold cannot be read, and the steps end it
	Steps      []Step   `json:"steps,omitempty"`      // steps in order; missing: nothing is to do
	Message    string   `json:"message,omitempty"`    // outcome after the steps
	Failure    *Failure `json:"failure,omitempty"`    // why nothing is done on the host
}

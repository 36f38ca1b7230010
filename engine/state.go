package engine

import "time"

// StatusSchema is the version of a status' JSON. It only grows.
const StatusSchema = 1

// Status is the fleet at one moment, by pool.
type Status struct {
	Schema            int                `json:"schema"`
	Site              string             `json:"site"`
	Complete          bool               `json:"complete"` // every host of every pool matches and is free, and nothing is wrong with an etcd cluster
	Pools             []PoolStatus       `json:"pools"`
	Hosts             []HostStatus       `json:"hosts"`
	Clusters          []ClusterFacts     `json:"clusters,omitempty"`
	Limited           bool               `json:"limited,omitempty"`       // only hosts within a limit were surveyed, and only these are in pools and complete
	UnhealthyClusters []UnhealthyCluster `json:"sick_clusters,omitempty"` // the unhealthy ones of these
}

// PoolStatus counts the hosts of a pool by their state.
type PoolStatus struct {
	Name     string            `json:"name"`
	Total    int               `json:"total"`
	Counts   map[HostState]int `json:"counts"`
	Complete bool              `json:"complete"`
	OS       string            `json:"os,omitempty"`   // digest that its hosts are to run
	Since    time.Time         `json:"since,omitzero"` // since when it is complete, or not, as the runs of this bastion have seen it; zero: not known
}

// HostStatus is one host.
type HostStatus struct {
	Host    string    `json:"host"`
	Pool    string    `json:"pool"`
	State   HostState `json:"state"`
	Booted  string    `json:"booted,omitempty"`
	Version string    `json:"version,omitempty"`
	Staged  string    `json:"staged,omitempty"` // digest that is staged
	Note    string    `json:"note,omitempty"`   // why it is in this state, as a sentence
	Hold    *Hold     `json:"hold,omitempty"`
}

// HostState is where a host stands.
type HostState string

// HostStates lists the states in the order in which tables show them.
func HostStates() []HostState {
	return []HostState{Updated, Pending, Staged, Drifted, Updating, Degraded, PausedState, HeldState, Unreached}
}

// The states of a host.
const (
	Updated     HostState = "updated"     // matches, and is free
	Pending     HostState = "pending"     // differs; nothing is staged
	Staged      HostState = "staged"      // differs; the new OS is staged
	Drifted     HostState = "drifted"     // has drift, which its pool only reports
	Updating    HostState = "updating"    // held by a run
	Degraded    HostState = "degraded"    // a run failed on it, it was rolled back, or its state is not understood
	PausedState HostState = "paused"      // differs, and the inventory says that it is paused
	HeldState   HostState = "held"        // held by a person
	Unreached   HostState = "unreachable" // nothing is known about it
)

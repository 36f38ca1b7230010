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

// ClusterStatus is an etcd cluster at one moment, and the disk latency of its
// members over a window before.
type ClusterStatus struct {
	ClusterFacts
	Time    time.Time `json:"time"` // of the facts
	Total   int       `json:"voters"`
	Healthy int       `json:"healthy"`
	Quorum  int       `json:"quorum,omitempty"` // voters that must be healthy for etcd to accept writes
	Spare   int       `json:"margin"`           // healthy voters beyond the quorum; negative: etcd accepts no writes

	Problems        []string       `json:"problems,omitempty"`         // why the cluster is not healthy, a sentence each
	Latency         []LatencyPoint `json:"latency,omitempty"`          // of the members whose metrics were read
	LatencyProblems []string       `json:"latency_problems,omitempty"` // why there is no latency, or which is over its limit; a sentence each
}

// NewClusterStatus returns the status of a cluster without latencies.
func NewClusterStatus(facts ClusterFacts, at time.Time) ClusterStatus {
	s := ClusterStatus{ClusterFacts: facts, Time: at, Total: len(facts.Voters()), Healthy: facts.CountHealthy()}
	if s.Total > 0 {
		s.Quorum, s.Spare = QuorumOf(s.Total), facts.Margin()
	}
	s.Problems = facts.FindProblems(func(string) bool { return false })
	return s
}

// ClustersVerdict returns the verdict on etcd clusters alone.
func ClustersVerdict(clusters []ClusterStatus) Verdict {
	var f Findings
	for _, c := range clusters {
		if u, unhealthy := c.FindUnhealthy(func(string) bool { return false }); unhealthy {
			f.UnhealthyClusters = append(f.UnhealthyClusters, u)
		}
	}
	return NewVerdict(f)
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

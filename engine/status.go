package engine

import (
	"time"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/kubefacts"
)

// StatusSchema is the version of a status' JSON. It only increases.
const StatusSchema = 1

// Status is the state of all surveyed hosts at one moment, by pool.
type Status struct {
	Schema            int                          `json:"schema"`
	Site              string                       `json:"site"`
	Complete          bool                         `json:"complete"` // every host of every pool matches and is free, and no etcd cluster has a problem
	Pools             []PoolStatus                 `json:"pools"`
	Hosts             []HostStatus                 `json:"hosts"`
	Reserved          []Reservation                `json:"reserved,omitempty"` // hosts off which people, or runs, keep runs
	Clusters          []etcdfacts.ClusterFacts     `json:"clusters,omitempty"`
	Limited           bool                         `json:"limited,omitempty"`            // only hosts within a limit were surveyed, and Pools and Complete are about these hosts only
	UnhealthyClusters []etcdfacts.UnhealthyCluster `json:"unhealthy_clusters,omitempty"` // the clusters with problems
	Kubernetes        []KubernetesStatus           `json:"kubernetes,omitempty"`         // the Kubernetes clusters of the hosts
}

// KubernetesStatus is a Kubernetes cluster at one moment.
type KubernetesStatus struct {
	Name     string              `json:"name"`
	Problem  *kubefacts.Problem  `json:"problem,omitempty"`  // why its API does not tell its nodes; missing: it does
	Warnings []kubefacts.Problem `json:"warnings,omitempty"` // why the API does not tell who else works on nodes
	Nodes    int                 `json:"nodes"`              // nodes of the cluster, of this site or not
	Ready    int                 `json:"ready"`              // nodes that are Ready
	Cordoned int                 `json:"cordoned"`           // nodes that are cordoned
	Kubelets map[string]int      `json:"kubelets,omitempty"` // number of nodes by the version of their kubelet
}

// ClusterStatus is an etcd cluster at one moment, and the disk latency of its
// members over a window before that moment.
type ClusterStatus struct {
	etcdfacts.ClusterFacts
	Time    time.Time `json:"time"` // time of the facts
	Voters  int       `json:"voters"`
	Healthy int       `json:"healthy"`
	Quorum  int       `json:"quorum,omitempty"` // voters that must be healthy for etcd to accept writes
	Margin  int       `json:"margin"`           // healthy voters beyond the quorum; negative: etcd accepts no writes

	Problems        []string       `json:"problems,omitempty"`         // why the cluster is not healthy, each as a sentence
	Latency         []LatencyPoint `json:"latency,omitempty"`          // disk latency of the members whose metrics were read
	LatencyProblems []string       `json:"latency_problems,omitempty"` // why a latency is missing, or which latency exceeds its limit; each as a sentence
}

// NewClusterStatus returns the status of a cluster without latencies.
func NewClusterStatus(facts etcdfacts.ClusterFacts, at time.Time) ClusterStatus {
	s := ClusterStatus{ClusterFacts: facts, Time: at, Voters: len(facts.Voters()), Healthy: facts.CountHealthy()}
	if s.Voters > 0 {
		s.Quorum, s.Margin = etcdfacts.QuorumOf(s.Voters), facts.Margin()
	}
	s.Problems = facts.FindProblems(func(string) bool { return false })
	return s
}

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
	OS       string            `json:"os,omitempty"`   // digest of the OS that its hosts should run
	Since    time.Time         `json:"since,omitzero"` // since when the pool is complete, or is not, as far as the runs of this bastion know; zero: not known
}

// HostStatus is the state of one host.
type HostStatus struct {
	Host    string    `json:"host"`
	Pool    string    `json:"pool"`
	State   HostState `json:"state"`
	Booted  string    `json:"booted,omitempty"`
	Version string    `json:"version,omitempty"`
	Staged  string    `json:"staged,omitempty"` // digest of the staged OS
	Reason  string    `json:"reason,omitempty"` // why the host is in this state, as a sentence
	Hold    *Hold     `json:"hold,omitempty"`

	Node *kubefacts.NodeState `json:"node,omitempty"` // its node; missing: the host belongs to no Kubernetes cluster

	Survivors []Survivor `json:"survivors,omitempty"` // services that run on during a soft reboot, and the deployments that they run from
}

// HostState is the state of a host, as one word.
type HostState string

// HostStates lists the states in the order in which tables show them.
func HostStates() []HostState {
	return []HostState{Updated, Pending, Staged, Drifted, Updating, Degraded, PausedState, MaintenanceState, HeldState, Unreached}
}

// The states of a host.
const (
	Updated          HostState = "updated"     // the host matches, and is free
	Pending          HostState = "pending"     // the host differs, and nothing is staged
	Staged           HostState = "staged"      // the host differs, and the new OS is staged
	Drifted          HostState = "drifted"     // the host has drift, which its pool only reports
	Updating         HostState = "updating"    // a run holds the host
	Degraded         HostState = "degraded"    // a run failed on the host, the host was rolled back, or its state is not understood
	PausedState      HostState = "paused"      // the host differs, and the inventory pauses it
	MaintenanceState HostState = "maintenance" // the inventory says that people work on the host
	HeldState        HostState = "held"        // a person holds the host, or its hold cannot be read
	Unreached        HostState = "unreachable" // nothing is known about the host
)

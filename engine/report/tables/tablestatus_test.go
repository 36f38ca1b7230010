package tables_test

import (
	"bytes"
	"testing"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

// TestStatusOfConfigs checks that the notes about pending and reported changes
// fit on a narrow terminal.
func TestStatusOfConfigs(t *testing.T) {
	note := "file /etc/chrony.conf sha256:1a2b3c4d5e6f 0644 → sha256:9f8e7d6c5b4a 0644, unit chronyd.service enabled → sha256:9f8e7d6c5b4a, enabled, user core 1 SSH key → 2 SSH keys, and 497 more"
	s := engine.Status{
		Site:  "berlin",
		Pools: []engine.PoolStatus{{Name: "worker", Total: 4, Counts: map[engine.HostState]int{engine.Pending: 1, engine.Drifted: 2, engine.Unreached: 1}}},
		Hosts: []engine.HostStatus{
			{Host: "worker-01", State: engine.Drifted, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "drift, only reported: " + note},
			{Host: "worker-02", State: engine.Drifted, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "drift, only reported: " + note},
			{Host: "worker-03", State: engine.Pending, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "user core 1 SSH key → 2 SSH keys"},
			{Host: "worker-04", State: engine.Unreached, Reason: "connect to 10.0.1.4:22: no answer within 10s, and none from its jump host either"},
		},
	}
	var b bytes.Buffer
	if err := tables.WriteStatus(&b, s, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	reporttest.CompareGolden(t, "status-configs", b.String())
}

// TestStatusOfKubernetes shows nodes that take no work, an API that does not answer, and a missing right.
func TestStatusOfKubernetes(t *testing.T) {
	cordoned := &kubefacts.NodeState{Kubernetes: "main", Node: "n", Absence: kubefacts.Cordoned, Text: "its node is cordoned"}
	unknown := &kubefacts.NodeState{Kubernetes: "edge", Problem: "the API of Kubernetes cluster edge does not tell: listing the nodes: connection refused"}
	s := engine.Status{
		Site:  "berlin",
		Pools: []engine.PoolStatus{{Name: "worker", Total: 4, Counts: map[engine.HostState]int{engine.Updated: 4}, Complete: true}}, Complete: true,
		Hosts: []engine.HostStatus{
			{Host: "worker-01", State: engine.Updated, Node: cordoned},
			{Host: "worker-02", State: engine.Updated, Node: cordoned},
			{Host: "worker-03", State: engine.Updated, Node: &kubefacts.NodeState{Kubernetes: "main", Node: "worker-03"}},
			{Host: "edge-1", State: engine.Updated, Node: unknown},
		},
		Kubernetes: []engine.KubernetesStatus{
			{
				Name: "main", Nodes: 3, Ready: 3, Cordoned: 2, Kubelets: map[string]int{"v1.37.2": 2, "v1.36.3": 1},
				Warnings: []kubefacts.Problem{{Kind: kubefacts.Forbidden, Cause: "listing the leases of nodes: 403 Forbidden", Hint: "give the user the role"}},
			},
			{Name: "edge", Problem: &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: "listing the nodes: connection refused", Hint: "find out whether the API server runs"}},
		},
	}
	var b bytes.Buffer
	if err := tables.WriteStatus(&b, s, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	reporttest.CompareGolden(t, "status-kubernetes", b.String())
}

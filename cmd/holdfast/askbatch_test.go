package main

import (
	"strings"
	"testing"

	"holdfast/engine"
)

// TestBatchQuestion checks that the question before a batch names the hosts, their pools and canaries, and the hosts that only
// restart services in this batch, so that nobody expects their reboot.
func TestBatchQuestion(t *testing.T) {
	hosts := []engine.HostPlan{{Host: "etcd-0", RestartsFirst: true}, {Host: "etcd-1"}}
	for want, b := range map[string]engine.Batch{
		"Next: etcd-0 (pool etcd; only restarts services on etcd-0). Go on?":             {Pools: []string{"etcd"}, Hosts: []string{"etcd-0"}},
		"Next: etcd-[0-1] (pool etcd, canary; only restarts services on etcd-0). Go on?": {Pools: []string{"etcd"}, Hosts: []string{"etcd-0", "etcd-1"}, Canaries: []string{"etcd"}},
		"Next: etcd-1 (pool etcd, worker, canary of worker). Go on?":                     {Pools: []string{"etcd", "worker"}, Hosts: []string{"etcd-1"}, Canaries: []string{"worker"}},
	} {
		if got := askAboutBatch(engine.Plan{Hosts: hosts, Batches: []engine.Batch{b}}); !strings.HasPrefix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

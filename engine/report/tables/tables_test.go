package tables_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

func TestTables(t *testing.T) {
	var b bytes.Buffer
	hold := engine.Hold{Kind: engine.MaintenanceHold, Holder: "ann@bastion", Reason: "DIMM swap", Ticket: "OPS-17", Acquired: reporttest.Began, Renewed: reporttest.Began, Expires: reporttest.Began.Add(time.Hour)}
	clusters := []etcdfacts.ClusterFacts{{Name: "main", Version: "3.5.0", Alarms: []string{"NOSPACE on etcd-1"}, Members: []etcdfacts.Member{
		{ID: "8e9e05c52164694d", Name: "etcd-0", Host: "etcd-0", Healthy: true, Leader: true, RaftIndex: 4711, Version: "3.5.16", DBBytes: 41 << 20},
		{ID: "8e9e05c52164694e", Name: "etcd-1", Host: "etcd-1", Problem: "no answer in time"},
		{ID: "8e9e05c52164694f", Name: "etcd-2", Host: "etcd-2", Healthy: true, RaftIndex: 4711, Version: "3.5.16", DBBytes: 41 << 20, DBInUseBytes: 20 << 20, DBQuotaBytes: 2 << 30, StorageVersion: "3.6.0"},
	}}, {Name: "other", Problem: "no member answers"}}
	for _, c := range []etcdfacts.Certificate{
		{Role: etcdfacts.ServerCertificate, Host: "etcd-0", Subject: "etcd-0", Issuer: "etcd-ca", NotBefore: reporttest.Began.Add(-300 * 24 * time.Hour), NotAfter: reporttest.Began.Add(65 * 24 * time.Hour)},
		{Role: etcdfacts.PeerCertificate, Host: "etcd-0", Subject: "etcd-0", Issuer: "etcd-ca", NotBefore: reporttest.Began.Add(-365 * 24 * time.Hour), NotAfter: reporttest.Began.Add(-time.Hour)},
		{Role: etcdfacts.ClientCertificate, Host: "etcd-0", Path: "/etc/etcd/client.crt", Subject: "root", Issuer: "etcd-ca", NotBefore: reporttest.Began.Add(-355 * 24 * time.Hour), NotAfter: reporttest.Began.Add(10*24*time.Hour + time.Hour)},
	} {
		clusters[0].Certificates = append(clusters[0].Certificates, c)
		if p, has := c.Problem("main", reporttest.Began); has {
			clusters[0].CertificateProblems = append(clusters[0].CertificateProblems, p)
		}
	}
	latencies := []engine.ClusterStatus{engine.NewClusterStatus(clusters[0], reporttest.Began), engine.NewClusterStatus(clusters[1], reporttest.Began)}
	latencies[0].Members = slices.Clone(clusters[0].Members)
	latencies[0].Members[1].RaftIndex, latencies[0].Members[1].EntriesBehind = 4000, 711
	latencies[0].Latency = []engine.LatencyPoint{
		{
			Host: "etcd-0", Window: engine.Duration(5012 * time.Millisecond), WALFsyncP99Seconds: 0.0061, WALFsyncBucket: &engine.LatencyBucket{LowSeconds: 0.004, HighSeconds: 0.008, Observed: 212},
			BackendCommitP99Seconds: 0.0187, BackendCommitBucket: &engine.LatencyBucket{LowSeconds: 0.016, HighSeconds: 0.032, Observed: 49},
		},
		{Host: "etcd-1", Window: engine.Duration(5012 * time.Millisecond), WALFsyncP99Seconds: 8.192, WALFsyncBucket: &engine.LatencyBucket{LowSeconds: 8.192, Observed: 3}},
	}
	latencies[0].LatencyProblems = []string{"member etcd-2 has no latency: etcd cluster main: metrics of the member on etcd-2: no answer in time"}
	status := engine.Status{
		Site: "berlin",
		Pools: []engine.PoolStatus{
			{Name: "etcd", Total: 3, Counts: map[engine.HostState]int{engine.Updated: 3}, Complete: true, Since: reporttest.Began},
			{Name: "worker", Total: 3, Counts: map[engine.HostState]int{engine.Pending: 2, engine.HeldState: 1}, Since: reporttest.Began.Add(90 * time.Minute)},
			{Name: "edge", Total: 4, Counts: map[engine.HostState]int{engine.Updated: 1, engine.PausedState: 2, engine.Degraded: 1}},
		},
		Hosts: []engine.HostStatus{
			{Host: "etcd-0", Pool: "etcd", State: engine.Updated, Version: "2.0", Booted: "bc30253b414755b9"},
			{Host: "etcd-1", Pool: "etcd", State: engine.Updated},
			{Host: "etcd-2", Pool: "etcd", State: engine.Updated},
			{Host: "worker-01", Pool: "worker", State: engine.Pending, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "os 1.0 → bc30253b4147"},
			{Host: "worker-02", Pool: "worker", State: engine.Pending, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "os 1.0 → bc30253b4147"},
			{Host: "worker-03", Pool: "worker", State: engine.HeldState, Reason: hold.String(), Hold: &hold},
			{Host: "edge-0", Pool: "edge", State: engine.Degraded, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "rolled back from bc30253b4147; give it another OS, or apply --retry-rolled-back"},
			{Host: "edge-1", Pool: "edge", State: engine.PausedState, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "the inventory pauses pool edge; os 1.0 → bc30253b4147"},
			{Host: "edge-2", Pool: "edge", State: engine.PausedState, Version: "1.0", Booted: "ffe304ca31ef56c1", Reason: "the inventory pauses pool edge; os 1.0 → bc30253b4147"},
			{Host: "edge-3", Pool: "edge", State: engine.Updated},
		},
		Clusters: clusters,
	}
	for name, write := range map[string]func() error{
		"status":         func() error { return tables.WriteStatus(&b, status, termtext.Style{}, false) },
		"status-verbose": func() error { return tables.WriteStatus(&b, status, termtext.Style{}, true) },
		"etcd":           func() error { return tables.WriteEtcd(&b, clusters, termtext.Style{}) },
		"etcd-status":    func() error { return tables.WriteEtcdStatus(&b, latencies, termtext.Style{}) },
		"holds": func() error {
			return tables.WriteHolds(&b, []tables.HeldHost{{Host: "worker-03", Hold: &hold}, {Host: "worker-04", Hold: &hold, Expired: true}, {Host: "worker-05", Problem: "it is not a hold\x07"}, {Host: "worker-06", Hold: &hold, Rebooted: true}}, 0)
		},
		"holds-none":      func() error { return tables.WriteHolds(&b, nil, 0) },
		"holds-unreached": func() error { return tables.WriteHolds(&b, nil, 2) },
		"runs": func() error {
			return tables.WriteRuns(&b, []journal.Run{
				{ID: "20261121-090000-0003", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began.Add(time.Hour), Last: reporttest.Began.Add(time.Hour), UnderWay: true},
				{ID: "20261121-080000-0001", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began, Last: reporttest.Began.Add(90 * time.Second), End: &event.RunEnd{Exit: 0, Complete: true}},
				{ID: "20261121-075000-0004", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began, Last: reporttest.Began, Cluster: "main", End: &event.RunEnd{}},
				{ID: "20261121-074000-0005", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began, Last: reporttest.Began, Cluster: "main", End: &event.RunEnd{Exit: engine.ExitStopped, Verdict: engine.Verdict{Findings: engine.Findings{Stopped: true, Failures: []engine.Failure{{Cause: "no leader"}}}}}},
				{ID: "20261121-073000-0006", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began, Last: reporttest.Began, Cluster: "main"},
				{ID: "20261121-070000-0002", Site: "berlin", Holder: "ann@bastion", Started: reporttest.Began.Add(-time.Hour), Last: reporttest.Began.Add(-time.Hour), LastSteps: map[string]string{"etcd-1": "wait for boot"}},
			})
		},
	} {
		b.Reset()
		if err := write(); err != nil {
			t.Fatal(err)
		}
		reporttest.CompareGolden(t, name, b.String())
	}
}

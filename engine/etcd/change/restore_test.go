package change

import (
	"context"
	"errors"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
)

// restoringHosts are two hosts: on "a" new data are ready; "b" has lost its disk. They list the steps that were done there.
type restoringHosts struct {
	done    []string
	onHold  func() // when a hold is taken
	foreign bool   // somebody else holds "b"
}

func (f *restoringHosts) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	switch {
	case script.Purpose == Purpose(hold.ReadScript) && host.Name == "b" && f.foreign:
		return engine.Output{Stdout: theirHold}, nil
	case script.Purpose == Purpose(hold.ReadScript):
		return engine.Output{Code: hostscript.NoHold}, nil
	case script.Purpose == Purpose(hold.TakeScript):
		f.onHold()
	case script.Purpose == ProbeHost && host.Name == "a":
		return engine.Output{Stdout: "clock 1\nrecord restoring\nrestore ready x\n"}, nil
	case script.Purpose == ProbeHost:
		return engine.Output{Stdout: "clock 1\nrunning\n"}, nil
	case script.Purpose == SetDataAside:
		f.done = append(f.done, "set aside "+host.Name)
	}
	return engine.Output{}, nil
}

func newFakeRestore(hosts *restoringHosts, cluster *fakeEtcd) *Restore {
	run := newFakeRun(&fakeHosts{}, cluster)
	run.Hosts, run.Emit = hosts, func(event.Event) error { return nil }
	r := &Restore{Run: run}
	r.Prepare()
	return r
}

// TestRestoreLooksAgainUnderAHold: if the quorum has come back until the hold is taken, no data are touched.
func TestRestoreLooksAgainUnderAHold(t *testing.T) {
	t.Parallel()
	cluster := &fakeEtcd{}
	hosts := &restoringHosts{onHold: func() {
		cluster.members = []membership.Member{{ID: "1", Name: "b", Host: "b", Healthy: true}}
	}}
	r := newFakeRestore(hosts, cluster)
	err := r.Apply(t.Context())
	var refusal *restore.Refusal
	if !errors.As(err, &refusal) || refusal.Kind != restore.QuorumLives || len(hosts.done) > 0 {
		t.Errorf("%v, done %v", err, hosts.done)
	}
}

// TestRestoreNeedsTheHolds: nothing is done while somebody else holds a host of the cluster, or the inventory pauses it.
func TestRestoreNeedsTheHolds(t *testing.T) {
	t.Parallel()
	hosts := &restoringHosts{onHold: func() {}, foreign: true}
	var f *engine.Failure
	if err := newFakeRestore(hosts, &fakeEtcd{}).Apply(t.Context()); !errors.As(err, &f) || f.Kind != engine.HeldFailure || len(hosts.done) > 0 {
		t.Errorf("%v, done %v", err, hosts.done)
	}
	hosts.foreign = false
	r := newFakeRestore(hosts, &fakeEtcd{})
	r.Run.LeftAlone = map[string]string{"b": "the inventory pauses it"}
	if err := r.Apply(t.Context()); !errors.As(err, &f) || f.Kind != engine.RefusedFailure || len(hosts.done) > 0 {
		t.Errorf("%v, done %v", err, hosts.done)
	}
}

// TestRestoreEnds: a restore ends, too, if its steps change nothing on the hosts.
func TestRestoreEnds(t *testing.T) {
	t.Parallel()
	hosts := &restoringHosts{onHold: func() {}}
	if err := newFakeRestore(hosts, &fakeEtcd{}).Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "1000 steps did not restore the cluster") {
		t.Error(err)
	}
}

// TestSecondRestoreReplacesTheFirst: a host that was away during one restore has good data after the next one, although nobody
// has seen data of the cluster between.
func TestSecondRestoreReplacesTheFirst(t *testing.T) {
	t.Parallel()
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.Run.replaced = replacedClusters{clusters: []string{"c0"}, away: []awayHost{{"b", "c1"}}}
	chosen := probedHost{host: membership.Host{Name: "a", Record: membership.Restoring}, found: hostState{newCluster: "c2", dataCluster: "c2"}}
	r.noteReplaced([]probedHost{chosen, {host: membership.Host{Name: "b"}}, {host: membership.Host{Name: "c", Unreachable: "cut"}}})
	for _, c := range []struct {
		host, cluster string
		want          bool
	}{
		{"b", "c2", false},
		{"a", "c2", false},
		{"a", "c1", true},
		{"a", "c0", true},
		{"b", "unknown", false}, // it was there
		{"c", "unknown", true},
		{"c", "c2", false},
	} {
		if got := r.replaced.hasData(c.host, c.cluster); got != c.want {
			t.Errorf("data of %s on %s: %v; %q", c.cluster, c.host, got, r.replaced)
		}
	}
}

// TestBuildNeedsItsApproval: another source than the approved one is not used.
func TestBuildNeedsItsApproval(t *testing.T) {
	t.Parallel()
	r := newFakeRestore(&restoringHosts{}, &fakeEtcd{})
	r.Accept(restore.Forecast{Source: restore.Source{Identity: "data-a"}}, 1)
	var f *engine.Failure
	if _, err := r.buildData(t.Context(), restore.State{Snapshot: &restore.Source{Identity: "sha256-b"}}, "b"); !errors.As(err, &f) || f.Kind != engine.RefusedFailure {
		t.Error(err)
	}
}

package change_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/hold"
	"holdfast/engine/longtest"
)

// lyingEtcd changes each member list before a run sees it.
type lyingEtcd struct {
	change.Etcd

	change func(*etcd.MemberList)
}

func (e lyingEtcd) Members(ctx context.Context, without ...string) etcd.MemberList {
	list := e.Etcd.Members(ctx, without...)
	e.change(&list)
	return list
}

func lieAboutMembers(lie func(*membership.Member)) func(*change.Run) {
	return lieAboutList(func(l *etcd.MemberList) {
		for i := range l.Members {
			lie(&l.Members[i])
		}
	})
}

func lieAboutList(lie func(*etcd.MemberList)) func(*change.Run) {
	return func(r *change.Run) { r.Etcd = lyingEtcd{r.Etcd, lie} }
}

// lazyEtcd removes no member, and lists none that it should have removed.
type lazyEtcd struct {
	change.Etcd

	removed []string
}

func (e *lazyEtcd) RemoveMember(_ context.Context, member string) error {
	e.removed = append(e.removed, member)
	return nil
}

func (e *lazyEtcd) Members(ctx context.Context, without ...string) etcd.MemberList {
	list := e.Etcd.Members(ctx, without...)
	list.Members = slices.DeleteFunc(list.Members, func(m membership.Member) bool { return slices.Contains(e.removed, m.ID) })
	return list
}

// deafHosts skip the scripts of some purposes, and tell the run that they did them.
type deafHosts struct {
	change.Hosts

	skip []change.Purpose
}

func (h deafHosts) Run(ctx context.Context, host engine.Host, script change.Script) (engine.Output, error) {
	if slices.Contains(h.skip, script.Purpose) {
		return engine.Output{}, nil
	}
	return h.Hosts.Run(ctx, host, script)
}

// skipScripts makes hosts skip scripts.
func skipScripts(purposes ...change.Purpose) func(*change.Run) {
	return func(r *change.Run) { r.Hosts = deafHosts{r.Hosts, purposes} }
}

// emptyHosts answer each probe as a host without data, without a record, and without a running etcd. With stopped, only hosts without a
// running etcd answer so: a member that runs on a host without data is noticed.
type emptyHosts struct {
	change.Hosts
	stopped bool
}

func (h emptyHosts) Run(ctx context.Context, host engine.Host, script change.Script) (engine.Output, error) {
	reply, err := h.Hosts.Run(ctx, host, script)
	if script.Purpose == change.ProbeHost && !(h.stopped && strings.Contains(reply.Stdout, "\nrunning\n")) {
		reply.Stdout, _, _ = strings.Cut(reply.Stdout, "\n") // the first line has the clock
	}
	return reply, err
}

// TestSimulatorBites lets every run that changes members break a law, in one way after the other, and checks that some history
// shows the violation.
func TestSimulatorBites(t *testing.T) {
	t.Parallel()
	longtest.SkipSlow(t)
	hideRetired := func(r *change.Run) {
		for i := range r.Members {
			r.Members[i].Retired = false
		}
	}
	for name, c := range map[string]struct {
		sabotage func(*change.Run)
		paused   bool
		broken   string
	}{
		"record of a learner": {skipScripts(change.RecordChange), false, "is given a member, and has no record of it"},
		"hold of a learner":   {skipScripts(change.RecordChange, change.Purpose(hold.TakeScript)), false, "is given a member without a hold"},
		"learner of a paused": {nil, true, "is paused, and is touched"},
		"one learner": {lieAboutMembers(func(m *membership.Member) {
			m.Healthy, m.Learner = m.Healthy || m.Learner, false
		}), false, "learn at once"},
		"wanted learner": {hideRetired, false, "is given a member, and nobody wants one there"},
		"wanted voter":   {hideRetired, false, "is given a vote, and nobody wants one there"},
		"healthy voters": {lieAboutMembers(func(m *membership.Member) {
			m.Healthy = m.Healthy || !m.Learner
		}), false, "cluster main changes the voter of"},
		"wanted removal": {func(r *change.Run) {
			for i := range r.Members {
				r.Members[i].Retired = i > 0
			}
		}, false, "is removed, although it serves"},
		"dead voter": {func(r *change.Run) { r.Hosts = emptyHosts{r.Hosts, true} }, false, "is removed, although it may come back"},
		"leader":     {lieAboutMembers(func(m *membership.Member) { m.Leader = false }), false, "leads cluster main, and its voter is removed"},
		"majority": {lieAboutMembers(func(m *membership.Member) {
			m.Healthy = m.Healthy || !m.Learner
		}), false, "after a change, only"},
		"restart of a leader": {lieAboutMembers(func(m *membership.Member) { m.Leader = false }), false, "goes down while it leads cluster"},
		"restart of a second voter": {lieAboutMembers(func(m *membership.Member) {
			m.Healthy = m.Healthy || !m.Learner
		}), false, "of cluster main is not healthy"},
		"data of a member": {func(r *change.Run) { r.Etcd = &lazyEtcd{Etcd: r.Etcd} }, false, "the data of the member of"},
		"second cluster": {func(r *change.Run) {
			r.Hosts = emptyHosts{r.Hosts, false}
			lieAboutList(func(l *etcd.MemberList) { *l = etcd.MemberList{} })(r)
		}, false, "founds a second cluster of the name main"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range 600 {
				h := rapid.Custom(drawHistory).Example(seed)
				h.sabotage, h.paused = c.sabotage, c.paused
				synctest.Test(t, func(*testing.T) { _ = h.play() }) // the violations matter
				for _, v := range h.site.Violations() {
					if text, _, _ := strings.Cut(v, "\n"); strings.Contains(text, c.broken) {
						t.Logf("seed %d tells: %s", seed, text)
						return
					}
				}
			}
			t.Errorf("no history breaks a law that says %q", c.broken)
		})
	}
}

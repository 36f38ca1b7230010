package rollout_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// blindClusters report every member as healthy, and the true leader.
type blindClusters struct{ rollout.Clusters }

func (c blindClusters) Gather(ctx context.Context, name string) etcdfacts.ClusterFacts {
	f := c.Clusters.Gather(ctx, name)
	for i := range f.Members {
		f.Members[i].Healthy = true
	}
	return f
}

func (blindClusters) AwaitMember(context.Context, string, string, func(string)) error { return nil }

// stuckClusters never move a leader.
type stuckClusters struct{ rollout.Clusters }

func (stuckClusters) MoveLeader(context.Context, string, string) (string, error) { return "", nil }

// rashClusters always return the facts of the first gather.
type rashClusters struct {
	rollout.Clusters
	seen map[string]etcdfacts.ClusterFacts
}

func (c rashClusters) Gather(ctx context.Context, name string) etcdfacts.ClusterFacts {
	if _, ok := c.seen[name]; !ok {
		c.seen[name] = c.Clusters.Gather(ctx, name)
	}
	return c.seen[name]
}

// alteredHosts run each script of a run with run, which gets the connection to the host.
type alteredHosts struct {
	rollout.Hosts

	run func(context.Context, rollout.Conn, rollout.Script) (rollout.Reply, error)
}

func (h alteredHosts) Connect(ctx context.Context, host engine.Host) (rollout.Conn, error) {
	c, err := h.Hosts.Connect(ctx, host)
	return alteredConn{c, h.run}, err
}

type alteredConn struct {
	rollout.Conn

	run func(context.Context, rollout.Conn, rollout.Script) (rollout.Reply, error)
}

func (c alteredConn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	return c.run(ctx, c.Conn, s)
}

// lateSink drops the events of step starts.
type lateSink struct{ rollout.Sink }

func (s lateSink) Emit(e event.Event) error {
	if e.Type == event.StepStarted {
		return nil
	}
	return s.Sink.Emit(e)
}

// hastyHosts release a host directly after the order to reboot.
func hastyHosts(h rollout.Hosts, run string) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		reply, err := c.Run(ctx, s)
		if err == nil && simulator.VerbOf(s) == "reboot" {
			return c.Run(ctx, rollout.Script{Text: hostscript.ReleaseScript(engine.HoldOwner{Run: run, Bastion: "b1"}, engine.Release{}), Purpose: rollout.Purpose(hold.ReleaseScript), Timeout: time.Minute})
		}
		return reply, err
	}}
}

// TestLawsBite puts a fault between a run and the world that makes the run
// break a law, and checks that the violation is found.
func TestLawsBite(t *testing.T) {
	for name, c := range map[string]struct {
		inv      engine.Inventory
		sabotage func(*simulator.Site, *rollout.Run)
		broken   string
	}{
		"quorum": {simulator.Fleet(3, 0), func(s *simulator.Site, r *rollout.Run) {
			s.Host("etcd-2").Boot(simulator.V2)
			s.Host("etcd-2").StopEtcd()
			time.Sleep(time.Minute)
			r.Clusters = blindClusters{r.Clusters}
		}, "leaves 1 of 3 voters"},
		"ill member": {simulator.Fleet(5, 0), func(s *simulator.Site, r *rollout.Run) {
			s.Host("etcd-2").Boot(simulator.V2)
			s.Host("etcd-2").StopEtcd()
			time.Sleep(time.Minute)
			r.Clusters = blindClusters{r.Clusters}
		}, "goes down while etcd-2 of cluster main is not healthy"},
		"member not awaited": {simulator.Fleet(3, 0), func(s *simulator.Site, r *rollout.Run) {
			for _, h := range s.Hosts() {
				h.Change(func(t *simulator.Traits) { t.NoEtcd = true })
			}
			r.Clusters = blindClusters{r.Clusters}
		}, "are disrupted at once"},
		"leader": {simulator.Fleet(3, 0), func(_ *simulator.Site, r *rollout.Run) {
			r.Clusters = stuckClusters{r.Clusters}
		}, "goes down while it leads"},
		"stale look": {simulator.Fleet(3, 0), func(_ *simulator.Site, r *rollout.Run) {
			r.Clusters = rashClusters{r.Clusters, map[string]etcdfacts.ClusterFacts{}}
		}, "before that"},
		"journal": {simulator.Fleet(0, 1), func(_ *simulator.Site, r *rollout.Run) {
			r.Sink = lateSink{r.Sink}
		}, "is not in the journal"},
		"released early": {simulator.Fleet(0, 1), func(_ *simulator.Site, r *rollout.Run) {
			r.Hosts = hastyHosts(r.Hosts, r.ID)
		}, "is released while it goes down"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(c.inv)
				applyRun(site.Bastion("run-1"), func(r *rollout.Run) { c.sabotage(site, r) })
				for _, v := range site.Violations() {
					if strings.Contains(v, c.broken) {
						return
					}
				}
				t.Errorf("no law was broken that says %q: %v", c.broken, site.Violations())
			})
		})
	}
}

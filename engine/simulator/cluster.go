package simulator

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
)

// cluster is an etcd cluster, whose health follows from its hosts.
type cluster struct {
	name        string
	allowOutage bool
	peers       []*peer
	members     []*Host // hosts of the peers that vote
	moved       bool    // peers have changed since the observer of the laws got them
	numbers     int     // number of peers that were ever added
	alarms      []string
	leader      *Host
	elected     time.Time // when the members last elected a leader themselves
}

func (c *cluster) countHealthy(now time.Time) int {
	n := 0
	for _, m := range c.members {
		if m.hasHealthyMember(now) {
			n++
		}
	}
	return n
}

func (c *cluster) quorum() int { return len(c.members)/2 + 1 }

func (c *cluster) electLeader(now time.Time) {
	c.joinPeers(now)
	switch {
	case c.countHealthy(now) < c.quorum():
		c.leader = nil
		return
	case c.leader != nil && c.leader.hasHealthyMember(now) && !c.leader.member.learner:
		return
	}
	for _, m := range c.members {
		if m.hasHealthyMember(now) {
			c.leader, c.elected = m, now
			return
		}
	}
}

func (c *cluster) clusterFacts(now time.Time) etcdfacts.ClusterFacts {
	f := etcdfacts.ClusterFacts{Name: c.name, Alarms: c.alarms}
	for _, p := range c.peers {
		m := p.host
		member := etcdfacts.Member{ID: p.id, Name: p.name(), Host: m.Name, Learner: p.learner, Healthy: m.answersClients(now) && c.leader != nil && !p.learner, Leader: c.leader == m}
		switch {
		case member.Healthy:
		case p.learner:
			member.Problem = "it is a learner"
		case !m.up:
			member.Problem = "connection refused"
		case !m.etcd:
			member.Problem = "etcd does not run"
		case c.leader == nil:
			member.Problem = "no leader"
		default:
			member.Problem = "it has not caught up"
		}
		f.Members = append(f.Members, member)
	}
	return f
}

// Leader returns the host that leads the etcd cluster, or "".
func (s *Site) Leader(cluster string) (leader string) {
	s.withLock(func(now time.Time) { leader = s.clusters[cluster].clusterFacts(now).Leader() })
	return leader
}

// Gather returns the facts of an etcd cluster.
func (b *Bastion) Gather(ctx context.Context, name string) etcdfacts.ClusterFacts {
	facts := etcdfacts.ClusterFacts{Name: name}
	err := b.deliverCall(ctx, Call{Verb: "observe", Cluster: name}, func(now time.Time) error {
		c := b.site.clusters[name]
		if c == nil {
			return fmt.Errorf("no cluster %s", name)
		}
		facts = c.clusterFacts(now)
		facts.Problem = b.unaccounted(c)
		b.lawNotes().SeeCluster(name)
		return nil
	})
	if err != nil {
		facts = etcdfacts.ClusterFacts{Name: name, Problem: err.Error()}
	}
	return facts
}

// MoveLeader moves leadership off the host, if the host is the leader.
func (b *Bastion) MoveLeader(ctx context.Context, name, host string) (to string, err error) {
	err = b.deliverCall(ctx, Call{Verb: "move leader", Cluster: name, Host: host}, func(now time.Time) error {
		c := b.site.clusters[name]
		b.law().CheckOwn(&b.site.hosts[host].law, "asked to give up the lead of cluster "+name)
		if c.leader == nil || c.leader.Name != host {
			return nil
		}
		for _, m := range c.members {
			if m.Name != host && m.hasHealthyMember(now) {
				c.leader, to = m, m.Name
				return nil
			}
		}
		return fmt.Errorf("cluster %s: no other member can lead", name)
	})
	return to, err
}

// AwaitMember waits until the host's member and all other members are healthy.
func (b *Bastion) AwaitMember(ctx context.Context, name, host string, tell func(string)) error {
	var facts etcdfacts.ClusterFacts
	for {
		if seen := b.Gather(ctx, name); ctx.Err() == nil {
			facts = seen
		}
		if ctx.Err() == nil && facts.Problem == "" && facts.CountHealthy() == len(facts.Members) {
			return nil
		}
		tell(fmt.Sprintf("%d of %d members are healthy", facts.CountHealthy(), len(facts.Members)))
		if err := b.clock.Sleep(ctx, time.Second); err != nil {
			return fmt.Errorf("wait for the member on %s: %d of %d members are healthy: %w", host, facts.CountHealthy(), len(facts.Members), context.Cause(ctx))
		}
	}
}

// Snapshot saves nothing, and returns a file name.
func (b *Bastion) Snapshot(ctx context.Context, name string) (string, error) {
	err := b.deliverCall(ctx, Call{Verb: "snapshot", Cluster: name}, func(time.Time) error {
		b.site.addToLog("%s snapshot of %s", b.ID, name)
		return nil
	})
	return name + ".db", err
}

// Defragment takes no time and frees one byte.
func (b *Bastion) Defragment(ctx context.Context, name, host string) (int64, error) {
	err := b.deliverCall(ctx, Call{Verb: "defragment", Cluster: name, Host: host}, func(now time.Time) error {
		b.law().CheckDisrupt(&b.site.hosts[host].law)
		b.site.addToLog("%s defragments %s", b.ID, host)
		return nil
	})
	return 1, err
}

// Sample reads a cluster for the journal. Sample takes a millisecond, so that
// it never coincides with events on full seconds, and the order of events is
// stable.
func (b *Bastion) Sample(ctx context.Context, name string) event.Sample {
	var f etcdfacts.ClusterFacts
	err := b.clock.Sleep(ctx, time.Millisecond)
	if err == nil {
		err = b.deliverCall(ctx, Call{Verb: "sample", Cluster: name}, func(now time.Time) error {
			f = b.site.clusters[name].clusterFacts(now)
			return nil
		})
	}
	if err != nil {
		return event.Sample{Problems: []string{err.Error()}}
	}
	return event.NewSample(f)
}

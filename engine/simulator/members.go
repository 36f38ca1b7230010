package simulator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/simulator/laws"
)

// peer is a member of a cluster, as etcd lists it.
type peer struct {
	id      string // hexadecimal
	host    *Host
	learner bool
	joined  bool // it has started once
	added   time.Time
}

func (p *peer) name() string {
	if !p.joined {
		return ""
	}
	return p.host.Name
}

func (c *cluster) addPeer(h *Host, learner bool) *peer {
	c.numbers++
	p := &peer{id: fmt.Sprintf("%x", c.numbers), host: h, learner: learner, joined: !learner, added: time.Now()}
	c.peers, h.member = append(c.peers, p), p
	c.updateVoters()
	return p
}

func (c *cluster) removePeer(p *peer) {
	c.peers = slices.DeleteFunc(c.peers, func(other *peer) bool { return other == p })
	p.host.member = nil
	if p.host.up && p.host.data == p.id { // its etcd learns of it, and ends
		p.host.etcd = false
	}
	c.updateVoters()
}

func (c *cluster) updateVoters() {
	c.members, c.moved = nil, true
	for _, p := range c.peers {
		if !p.learner {
			c.members = append(c.members, p.host)
		}
	}
}

// joinPeers names the members that have started. In etcd, a member sends its name to the leader.
func (c *cluster) joinPeers(now time.Time) {
	for _, p := range c.peers {
		if !p.joined && c.leader != nil && p.host.hasHealthyMember(now) && !now.Before(p.host.members.started.Add(time.Second)) {
			p.joined = true
		}
	}
}

func (c *cluster) findPeer(id string) *peer {
	if i := slices.IndexFunc(c.peers, func(p *peer) bool { return p.id == id }); i >= 0 {
		return c.peers[i]
	}
	return nil
}

func (c *cluster) observeInto(seen *laws.Cluster) {
	if !c.moved {
		return
	}
	c.moved = false
	seen.Members, seen.Learner = nil, nil
	for _, p := range c.peers {
		if p.learner {
			seen.Learner, seen.Added = &p.host.law, p.added
		} else {
			seen.Members = append(seen.Members, &p.host.law)
		}
	}
}

// unaccounted returns why the members do not fit the inventory of the run.
func (b *Bastion) unaccounted(c *cluster) string {
	inv := &b.site.Inventory
	if b.Knows != nil {
		inv = b.Knows
	}
	for _, p := range c.peers {
		if _, ok := inv.Host(p.host.Name); !ok {
			return "member " + p.id + " is on no host of the inventory"
		}
	}
	for _, h := range inv.Members(c.name) {
		if !h.Retired && b.site.hosts[h.Name].member == nil {
			return "host " + h.Name + " is not in the member list"
		}
	}
	return ""
}

// Peer is an entry of etcd's member list, with the health that a bastion observes.
type Peer struct {
	ID, Name, Host                     string
	Learner, Leader, Healthy, CaughtUp bool
}

// The refusals of etcd.
var (
	ErrNoQuorum  = errors.New("etcdserver: request timed out")
	ErrUnhealthy = errors.New("etcdserver: unhealthy cluster")
	ErrNotReady  = errors.New("etcdserver: can only promote a learner member which is in sync with leader")
)

// Peers returns the members and alarms of a cluster, and none if no member answers.
func (b *Bastion) Peers(ctx context.Context, name string) (list []Peer, alarms []string, err error) {
	err = b.deliverCall(ctx, Call{Verb: "list members", Cluster: name}, func(now time.Time) error {
		c := b.site.clusters[name]
		answers := false
		for _, p := range c.peers {
			serves := p.host.answersClients(now) && !p.host.cut
			answers = answers || serves
			list = append(list, Peer{
				ID: p.id, Name: p.name(), Host: p.host.Name, Learner: p.learner, Leader: c.leader == p.host,
				Healthy: serves && c.leader != nil, CaughtUp: serves && c.leader != nil && p.isCaughtUp(now),
			})
		}
		b.lawNotes().SeeCluster(name)
		if alarms = c.alarms; !answers {
			list = nil
		}
		return nil
	})
	return list, alarms, err
}

func (p *peer) isCaughtUp(now time.Time) bool {
	return p.learner && p.joined && !now.Before(p.host.members.started.Add(p.host.traits.CatchUp))
}

// changePeers asks etcd for a change, which needs a quorum.
func (b *Bastion) changePeers(ctx context.Context, call Call, do func(c *cluster, now time.Time) error) error {
	return b.deliverCall(ctx, call, func(now time.Time) error {
		c := b.site.clusters[call.Cluster]
		reachable := slices.ContainsFunc(c.members, func(h *Host) bool { return h.answersClients(now) && !h.cut })
		if c.electLeader(now); c.leader == nil || !reachable {
			return ErrNoQuorum
		}
		if err := do(c, now); err != nil {
			return err
		}
		b.site.addToLog("%s: %s %s: %s", b.ID, call.Verb, call.Host, c.describe(now))
		return nil
	})
}

func (c *cluster) describe(now time.Time) string {
	text := fmt.Sprintf("%d of %d voters healthy", c.countHealthy(now), len(c.members))
	for _, p := range c.peers {
		text += fmt.Sprintf(", %s on %s", p.id, p.host.Name)
		if p.learner {
			text += " learns"
		}
	}
	return text
}

// AddLearner adds a learner for a host. Like etcd, it refuses while a voter is down. Unlike etcd, it adds a second learner, and
// a law reports that.
func (b *Bastion) AddLearner(ctx context.Context, name, host string) error {
	return b.changePeers(ctx, Call{Verb: "add learner", Cluster: name, Host: host}, func(c *cluster, now time.Time) error {
		h := b.site.hosts[host]
		switch {
		case h.member != nil:
			return errors.New("etcdserver: Peer URLs already exists")
		case c.countHealthy(now) < len(c.members):
			return ErrUnhealthy
		}
		b.law().CheckAddLearner(b.site.observedCluster(name), &h.law, h.members.record == string(membership.Adding))
		c.addPeer(h, true)
		return nil
	})
}

// Promote makes a learner vote.
func (b *Bastion) Promote(ctx context.Context, name, id string) error {
	return b.changePeers(ctx, Call{Verb: "promote", Cluster: name, Host: id}, func(c *cluster, now time.Time) error {
		p := c.findPeer(id)
		switch {
		case p == nil || !p.learner:
			return errors.New("etcdserver: member not found, or no learner")
		case !p.host.hasHealthyMember(now) || !p.isCaughtUp(now):
			return ErrNotReady
		}
		b.law().CheckPromote(b.site.observedCluster(name), &p.host.law)
		p.learner = false
		c.updateVoters()
		return nil
	})
}

// RemoveMember removes a member. Unlike etcd, it refuses no dangerous removal. Laws report those.
func (b *Bastion) RemoveMember(ctx context.Context, name, id string) error {
	return b.changePeers(ctx, Call{Verb: "remove member", Cluster: name, Host: id}, func(c *cluster, now time.Time) error {
		p := c.findPeer(id)
		if p == nil {
			return errors.New("etcdserver: member not found")
		}
		if !p.learner {
			b.law().CheckRemove(b.site.observedCluster(name), &p.host.law, laws.Removed{Serves: p.host.hasHealthyMember(now), HasData: p.host.data == id})
		}
		c.removePeer(p)
		return nil
	})
}

func (s *Site) observedCluster(name string) *laws.Cluster {
	i := slices.IndexFunc(s.etcd, func(c *cluster) bool { return c.name == name })
	return s.laws.Clusters[i]
}

// Carry carries out a run that changes members, until it ends or is killed.
func (b *Bastion) Carry(ctx context.Context, carry func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	b.mu.Lock()
	b.state, b.cancel = running, cancel
	b.mu.Unlock()
	b.site.withLock(func(time.Time) { b.observed.Begin(&laws.Asked{}, false, false) })
	defer b.Kill()
	return carry(ctx)
}

// Note journals an event of a run that changes members. The laws of roll-outs do not know its steps.
func (b *Bastion) Note(e event.Event) error {
	if b.hasState(ended) {
		return errKilled
	}
	b.mu.Lock()
	b.events = append(b.events, e)
	b.mu.Unlock()
	if e.Type == event.StepStarted {
		b.site.withLock(func(time.Time) { b.site.addToLog("%s: %s %s (%s)", b.ID, e.Step, e.Host, e.Message) })
	}
	if b.Watch != nil {
		b.Watch(e)
	}
	return nil
}

// JournaledRuns reads earlier runs from their journals.
func JournaledRuns(earlier ...*Bastion) []journal.Run {
	var runs []journal.Run
	for _, b := range earlier {
		runs = append(runs, b.journaledRun())
	}
	return runs
}

// encodeWAL returns the beginning of a WAL file, with the IDs of the member and of the cluster.
func encodeWAL(member string) []byte {
	id, _ := strconv.ParseUint(member, 16, 64) // the simulator makes only hexadecimal IDs
	ids := binary.AppendUvarint([]byte{1 << 3}, id)
	ids = append(ids, 2<<3, 1) // ID of the cluster
	record := append([]byte{1 << 3, 1, 3<<3 | 2, byte(len(ids))}, ids...)
	return append(binary.LittleEndian.AppendUint64(nil, uint64(len(record))), record...)
}

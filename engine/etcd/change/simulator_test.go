package change_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/simulator"
)

const mainCluster = "main"

// simulatedEtcd is the etcd of a simulated cluster, as a bastion sees it.
type simulatedEtcd struct {
	run *simulator.Bastion
	inv engine.Inventory
}

// Members returns the list of etcd.
func (e simulatedEtcd) Members(ctx context.Context, _ ...string) etcd.MemberList {
	peers, alarms, err := e.run.Peers(ctx, mainCluster)
	if err != nil {
		return etcd.MemberList{Problem: err.Error()}
	}
	list := etcd.MemberList{PeerURLs: map[string][]string{}, Alarms: alarms, Version: "3.6.0"}
	for _, p := range peers {
		m := membership.Member{ID: p.ID, Name: p.Name, Host: p.Host, Learner: p.Learner, Leader: p.Leader, Healthy: p.Healthy, CaughtUp: p.CaughtUp}
		h, ok := e.inv.Host(p.Host)
		if !ok {
			m.Host = ""
		}
		list.Members = append(list.Members, m)
		list.PeerURLs[p.ID] = []string{simulator.PeerURL(h)}
	}
	return list
}

// AddLearner adds a learner.
func (e simulatedEtcd) AddLearner(ctx context.Context, peerURL string) error {
	i := slices.IndexFunc(e.inv.Hosts, func(h engine.Host) bool { return simulator.PeerURL(h) == peerURL })
	return translateRefusal(e.run.AddLearner(ctx, mainCluster, e.inv.Hosts[i].Name))
}

// Promote makes a learner vote.
func (e simulatedEtcd) Promote(ctx context.Context, member string) error {
	return translateRefusal(e.run.Promote(ctx, mainCluster, member))
}

// RemoveMember removes a member.
func (e simulatedEtcd) RemoveMember(ctx context.Context, member string) error {
	return translateRefusal(e.run.RemoveMember(ctx, mainCluster, member))
}

// FailedMessages counts a message that could not be sent each second.
func (simulatedEtcd) FailedMessages(context.Context, string, string) (uint64, error) {
	return uint64(time.Now().Unix()), nil
}

// MoveLeader makes another voter lead.
func (e simulatedEtcd) MoveLeader(ctx context.Context, host string) (string, error) {
	return e.run.MoveLeader(ctx, mainCluster, host)
}

// CheckPorts finds all ports open.
func (simulatedEtcd) CheckPorts(context.Context, string, []string) error { return nil }

// CheckReach finds that every host reaches every other.
func (simulatedEtcd) CheckReach(context.Context, string, string) (bool, error) { return true, nil }

// Revision is not asked for.
func (simulatedEtcd) Revision(context.Context, string) (int64, error) { return 1, nil }

// translateRefusal returns a refusal of the simulator as the client of etcd does.
func translateRefusal(err error) error {
	switch {
	case errors.Is(err, simulator.ErrNotReady):
		return rpctypes.ErrMemberLearnerNotReady
	case errors.Is(err, simulator.ErrUnhealthy):
		return rpctypes.ErrUnhealthy
	case errors.Is(err, simulator.ErrNoQuorum):
		return rpctypes.ErrTimeout
	}
	return err
}

// simulatedHosts runs scripts on the hosts of a site.
type simulatedHosts struct{ run *simulator.Bastion }

// Run runs a script.
func (h simulatedHosts) Run(ctx context.Context, host engine.Host, script change.Script) (engine.Output, error) {
	return h.run.RunMemberScript(ctx, host, script)
}

// changeRun is a run that changes members, on a simulated site.
type changeRun struct {
	bastion *simulator.Bastion
	inv     engine.Inventory
	named   []string
	earlier []*simulator.Bastion

	sabotage func(*change.Run) // nil, or breaks a law

	err error // why it ended; nil: the members are as they should be
}

// apply does as the command does: it observes, plans, approves and carries the plan out.
func (c *changeRun) apply(ctx context.Context) {
	c.err = c.bastion.Carry(ctx, func(ctx context.Context) error {
		cluster, _ := c.inv.Cluster(mainCluster)
		owner := engine.HoldOwner{Run: c.bastion.ID, Bastion: c.bastion.Identity}
		r := &change.Run{
			Cluster: cluster, Members: c.inv.Members(mainCluster), Owner: owner, Holder: "ann@" + c.bastion.ID, Named: c.named,
			Dead: journal.DeadMemberRuns(simulator.JournaledRuns(c.earlier...), mainCluster, owner, c.inv.Site),
			Etcd: simulatedEtcd{c.bastion, c.inv}, Hosts: simulatedHosts{c.bastion},
			Snapshot: func(ctx context.Context) (string, error) { return c.bastion.Snapshot(ctx, mainCluster) },
			Emit:     c.emitEvent,
		}
		if c.sabotage != nil {
			c.sabotage(r)
		}
		r.Prepare()
		state, err := r.Settled(ctx)
		if err != nil {
			return err
		}
		forecast := membership.Plan(state)
		switch {
		case forecast.Refusal != nil && len(forecast.Steps) == 0:
			return forecast.Refusal
		case len(forecast.Steps) == 0 && len(r.Dead) == 0:
			return nil
		}
		r.Accept(forecast)
		return c.carryOut(ctx, r)
	})
}

func (c *changeRun) carryOut(ctx context.Context, r *change.Run) error {
	start := event.RunStart{Site: c.inv.Site, Holder: r.Holder, Bastion: r.Owner.Bastion, Cluster: mainCluster}
	if err := c.emitEvent(event.Event{Type: event.RunStarted, Start: &start}); err != nil {
		return err
	}
	err := r.Apply(ctx)
	end := event.RunEnd{Exit: engine.ExitOK}
	if err != nil {
		end.Exit = engine.ExitFailed
	}
	return errors.Join(err, c.emitEvent(event.Event{Type: event.RunEnded, End: &end}))
}

func (c *changeRun) emitEvent(e event.Event) error {
	e.Schema, e.Run, e.Time = event.Schema, c.bastion.ID, time.Now()
	return c.bastion.Note(e)
}

// managedInventory returns an inventory with that many hosts that are to have a voter.
func managedInventory(hosts int) engine.Inventory {
	inv := simulator.Fleet(hosts, 0)
	inv.Clusters[0].Managed = &engine.ManagedMembers{PeerPort: 2380, DataDir: "/var/lib/etcd/default", Unit: "etcd.service"}
	for i := range inv.Hosts {
		inv.Hosts[i].Address = inv.Hosts[i].Name
	}
	return inv
}

func transcript(site *simulator.Site) string {
	return fmt.Sprintf("%+v\n%s", site.Membership(mainCluster), strings.Join(site.Log(), "\n"))
}

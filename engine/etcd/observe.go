package etcd

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/sourcegraph/conc"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"holdfast/engine"
)

// Gather looks at the cluster: it asks every peer at the same time, each
// about itself, and takes at most Config.Timeout. It never fails: what is
// wrong, even that nobody answers, is in the facts.
//
// A voter is healthy if it answers a linearizable read and has then applied
// every entry that any member knew to be committed before the read was sent.
// The mark is taken before, so that a busy cluster raises no false alarm, and
// it is exact, so that a member that is behind is not counted.
func (c *Cluster) Gather(ctx context.Context) engine.ClusterFacts {
	answers := make([]answer, len(c.cfg.Peers))
	sessions := make([]*session, len(c.cfg.Peers))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	c.askPeers(ctx, 2, func(ctx context.Context, i int) {
		sessions[i], answers[i] = c.openAndAsk(ctx, c.cfg.Peers[i])
	})
	c.askPeers(ctx, 2, func(ctx context.Context, i int) {
		if answers[i].err == nil {
			sessions[i].checkRead(ctx, &answers[i])
		}
	})
	view := c.arrangeAnswers(answers)
	facts := view.clusterFacts(c.cfg.Name)
	if i := view.bestAnswer; i >= 0 && view.hasAlarms() {
		facts.Alarms = c.listAlarms(ctx, sessions[i], view)
	}
	return facts
}

// askPeers does something for every peer at the same time, within so many fifths
// of the timeout.
func (c *Cluster) askPeers(ctx context.Context, fifths int, do func(context.Context, int)) {
	ctx, cancel := c.limitContext(ctx, fifths)
	defer cancel()
	var wg conc.WaitGroup
	for i := range c.cfg.Peers {
		wg.Go(func() { do(ctx, i) })
	}
	wg.Wait()
}

// limitContext bounds a context by so many fifths of the timeout.
func (c *Cluster) limitContext(ctx context.Context, fifths int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.gatherTimeout()*time.Duration(fifths)/5)
}

// openAndAsk opens a session with a peer and asks who it is. Without an answer the
// session is nil.
func (c *Cluster) openAndAsk(ctx context.Context, p Peer) (*session, answer) {
	a := answer{host: p.Host, address: p.Address}
	s, err := c.openSession(ctx, p)
	if err != nil {
		a.err = err
		return nil, a
	}
	s.askIdentity(ctx, &a)
	return s, a
}

// arrangeAnswers arranges the answers, with what is known from earlier ones about who
// runs where, and remembers it for the time a host is away.
func (c *Cluster) arrangeAnswers(answers []answer) clusterView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := newClusterView(answers, c.hosts)
	for id, host := range v.hosts {
		c.hosts[id] = host
	}
	return v
}

// listAlarms lists the alarms of the cluster, by one member. Listing them is a
// raft proposal, that is a write to every member's disk; so it is only done
// when the members' status, which costs nothing, says that there are some.
func (c *Cluster) listAlarms(ctx context.Context, s *session, v clusterView) []string {
	ctx, cancel := c.limitContext(ctx, 1)
	defer cancel()
	list, err := s.AlarmList(ctx)
	if err != nil {
		return v.statusAlarms()
	}
	var alarms []string
	for _, a := range list.Alarms {
		if a.Alarm != pb.AlarmType_NONE {
			alarms = append(alarms, fmt.Sprintf("%s on %s", a.Alarm, v.nameOf(a.MemberID)))
		}
	}
	return firstAlarms(alarms)
}

// firstAlarms sorts alarms and leaves out those that are too many to be told.
func firstAlarms(alarms []string) []string {
	sort.Strings(alarms)
	if more := len(alarms) - maxAlarms; more > 0 {
		alarms = append(alarms[:maxAlarms:maxAlarms], fmt.Sprintf("%d more alarms", more))
	}
	return alarms
}

// isAlarmText reports whether a text of a member's status is about an alarm;
// that there is no leader is said elsewhere.
func isAlarmText(text string) bool { return text != rpctypes.ErrNoLeader.Error() }

package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/sourcegraph/conc"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"holdfast/engine/etcdfacts"
)

// Gather asks every peer at the same time, each about itself, and takes at most Config.Timeout. It never fails: the
// facts contain all problems, even that no peer answers.
//
// A voter is healthy if it answers a linearizable read and has then applied every entry that any member knew to be
// committed before the read was sent. Gather reads the committed index before the read, so that a busy cluster causes
// no false alarm. It compares exactly: a member that lacks one such entry is not healthy.
func (c *Cluster) Gather(ctx context.Context) etcdfacts.ClusterFacts {
	_, facts := c.gatherView(ctx)
	return facts
}

func (c *Cluster) gatherView(ctx context.Context, without ...string) (clusterView, etcdfacts.ClusterFacts) {
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
		p := c.cfg.Peers[i]
		if slices.Contains(without, p.Host) {
			answers[i] = answer{host: p.Host, address: p.Address, retired: p.Retired, err: errReplaced}
			return
		}
		sessions[i], answers[i] = c.openAndAsk(ctx, p)
	})
	first, version := c.arrangeAnswers(answers), ""
	c.askPeers(ctx, 2, func(ctx context.Context, i int) {
		var look conc.WaitGroup
		look.Go(func() { c.lookAtPeer(ctx, c.cfg.Peers[i], first) })
		if i == first.bestAnswer {
			look.Go(func() { version = c.readClusterVersion(ctx, i) })
		}
		if answers[i].err == nil {
			sessions[i].checkRead(ctx, &answers[i])
		}
		look.Wait()
	})
	view := c.arrangeAnswers(answers)
	facts := view.clusterFacts(c.cfg.Name)
	facts.Version = version
	facts.Certificates, facts.CertificateProblems = c.listCertificates()
	if i := view.bestAnswer; i >= 0 && view.hasAlarms() {
		facts.Alarms = c.listAlarms(ctx, sessions[i], view)
	}
	return view, facts
}

var errReplaced = errors.New("its data are of a cluster that was replaced")

// askPeers asks all peers at the same time, for at most fifths/5 of the timeout.
func (c *Cluster) askPeers(ctx context.Context, fifths int, ask func(context.Context, int)) {
	ctx, cancel := c.limitContext(ctx, fifths)
	defer cancel()
	var wg conc.WaitGroup
	for i := range c.cfg.Peers {
		wg.Go(func() { ask(ctx, i) })
	}
	wg.Wait()
}

func (c *Cluster) limitContext(ctx context.Context, fifths int) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.cfg.gatherTimeout()*time.Duration(fifths)/5)
}

func (c *Cluster) openAndAsk(ctx context.Context, p Peer) (*session, answer) {
	a := answer{host: p.Host, address: p.Address, retired: p.Retired}
	s, err := c.openSession(ctx, p)
	if err != nil {
		a.err = err
		return nil, a
	}
	stranger := c.cfg.watchSilence(ctx, p, func() error { s.askIdentity(ctx, &a); return a.err })
	if a.err == nil {
		a.err = c.proveMember(ctx, p, s)
	} else if stranger != nil {
		a.err = fmt.Errorf("%w; %w", a.err, stranger)
	}
	if broken := s.conn.readError(); a.err != nil && broken != nil && c.clients.tls != nil {
		a.err = c.clients.tls.explainEnd(p.Host, a.err, broken)
	}
	return s, a
}

// arrangeAnswers remembers the hosts of members for gathers in which a member does not answer.
func (c *Cluster) arrangeAnswers(answers []answer) clusterView {
	c.mu.Lock()
	defer c.mu.Unlock()
	v := newClusterView(answers, c.hosts)
	if c.cfg.Managed {
		v.managed = c.cfg.Name
	}
	for id, host := range v.hosts {
		c.hosts[id] = host
	}
	return v
}

// listAlarms asks one member for the alarms of the cluster. The request is a raft proposal, so every member writes to
// its disk. Gather therefore calls listAlarms only if a status, which causes no write, mentions an alarm.
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

func firstAlarms(alarms []string) []string {
	sort.Strings(alarms)
	if more := len(alarms) - maxAlarms; more > 0 {
		alarms = append(alarms[:maxAlarms:maxAlarms], fmt.Sprintf("%d more alarms", more))
	}
	return alarms
}

// isAlarmText reports whether an error in a member's status is about an alarm. Other facts report a missing leader.
func isAlarmText(text string) bool { return text != rpctypes.ErrNoLeader.Error() }

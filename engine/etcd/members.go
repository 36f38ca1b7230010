package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/version"
)

// MemberList is etcd's own list of members, with the health of each member.
type MemberList struct {
	Cluster  string // ID of the cluster, hexadecimal; "": no member answers
	Members  []membership.Member
	PeerURLs map[string][]string // by ID
	Alarms   []string
	Version  string // cluster version, or the oldest version of a member if that is not known; "": neither is known
	Problem  string // the reason why the members are not known; without any answer, Problem and Members are empty
}

// caughtUp is the number of committed entries that a learner may lack for its promotion. etcd refuses a learner that
// has less than 90 % of the leader's entries. A learner that follows a busy cluster always lacks the last few entries.
const caughtUp = 500

// Members returns the member list of the cluster. If a quorum answers, a linearizable request confirms the list.
// Members asks no etcd on the hosts in without, because those have data of a cluster that was replaced.
func (c *Cluster) Members(ctx context.Context, without ...string) MemberList {
	view, facts := c.gatherView(ctx, without...)
	if view.bestAnswer < 0 {
		return MemberList{}
	}
	list := MemberList{Cluster: hexID(view.cluster), PeerURLs: map[string][]string{}, Alarms: facts.Alarms, Version: leastVersion(facts)}
	problems := append(view.otherClusters(), view.sharedMemberIDs()...)
	if view.members == nil {
		problems = append(problems, "no member returns the member list: "+oneLine(view.answers[view.bestAnswer].listErr))
	}
	if list.Problem = strings.Join(problems, "; "); list.Problem != "" {
		return list
	}
	confirmed, err := c.confirmMembers(ctx, facts)
	if err != nil && facts.Margin() >= 0 {
		list.Problem = "the member list cannot be read: " + oneLine(err)
		return list
	}
	if err == nil && !sameMembers(confirmed, view.members) {
		list.Problem = "the members are just changing"
		return list
	}
	for _, f := range facts.Members { // in the order of the inventory
		i := slices.IndexFunc(view.members, func(m *pb.Member) bool { return hexID(m.ID) == f.ID })
		list.Members = append(list.Members, view.memberState(view.members[i], f))
		urls, problem := cleanPeerURLs(view.members[i])
		if problem != "" {
			return MemberList{Cluster: list.Cluster, Problem: problem, Alarms: list.Alarms, Version: list.Version}
		}
		list.PeerURLs[f.ID] = urls
	}
	return list
}

// leastVersion returns the version below which no new member may be.
func leastVersion(facts etcdfacts.ClusterFacts) string {
	if facts.Version != "" {
		return facts.Version
	}
	var texts []string
	for _, m := range facts.Members {
		texts = append(texts, versionText(m.Version))
	}
	return version.Oldest(texts)
}

func (v clusterView) memberState(m *pb.Member, f etcdfacts.Member) membership.Member {
	s := membership.Member{ID: f.ID, Host: f.Host, Learner: f.Learner, Leader: f.Leader, Healthy: f.Healthy, Problem: f.Problem, Database: f.DBBytes}
	if m.Name != "" {
		s.Name = f.Name
	}
	if i, answers := v.answerOf[m.ID]; f.Learner && answers {
		s.Healthy, s.CaughtUp = true, v.entriesBehind(v.answers[i]) <= caughtUp && v.answers[i].status.RaftAppliedIndex > 0
	}
	return s
}

func sameMembers(a, b []*pb.Member) bool {
	var texts [2][]string
	for i, list := range [][]*pb.Member{a, b} {
		for _, m := range list {
			texts[i] = append(texts[i], fmt.Sprint(m.ID, m.IsLearner, m.Name))
		}
		slices.Sort(texts[i])
	}
	return slices.Equal(texts[0], texts[1])
}

func (c *Cluster) confirmMembers(ctx context.Context, facts etcdfacts.ClusterFacts) (members []*pb.Member, err error) {
	err = c.askVoter(ctx, facts, func(ctx context.Context, s *session) error {
		list, err := s.MemberList(ctx)
		if err == nil {
			members = list.Members
		}
		return err
	})
	return members, err
}

// errNoVoter is the error of a request that no member could get.
var errNoVoter = errors.New("no healthy voter")

// askVoter asks the leader, or another healthy voter if no connection to the leader is possible.
func (c *Cluster) askVoter(ctx context.Context, facts etcdfacts.ClusterFacts, ask func(context.Context, *session) error) error {
	err := errNoVoter
	voters := snapshotSources(facts)
	slices.Reverse(voters) // the leader is the last source of a snapshot
	for _, m := range voters {
		var s *session
		if s, _, err = c.openAt(ctx, m.Host); err != nil {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
		err = ask(limited, s)
		cancel()
		s.Close()
		return err
	}
	return err
}

// AddLearner adds a learner. Other members reach it at peerURL.
func (c *Cluster) AddLearner(ctx context.Context, peerURL string) error {
	return c.changeMembers(ctx, "add a learner at "+peerURL, func(ctx context.Context, s *session) error {
		_, err := s.MemberAddAsLearner(ctx, []string{peerURL})
		return err
	})
}

// Promote makes a learner a voter. etcd refuses a learner that has not caught up. A voter counts as promoted: the answer to
// an earlier try may have been lost.
func (c *Cluster) Promote(ctx context.Context, member string) error {
	return c.changeMember(ctx, "promote member ", member, func(ctx context.Context, s *session, id uint64) error {
		_, err := s.MemberPromote(ctx, id)
		if errors.Is(err, rpctypes.ErrMemberNotLearner) {
			return nil
		}
		return err
	})
}

// RemoveMember removes a member from the list. Its etcd then stops by itself. A member that is not in the list counts as
// removed: the answer to an earlier try may have been lost.
func (c *Cluster) RemoveMember(ctx context.Context, member string) error {
	return c.changeMember(ctx, "remove member ", member, func(ctx context.Context, s *session, id uint64) error {
		_, err := s.MemberRemove(ctx, id)
		if errors.Is(err, rpctypes.ErrMemberNotFound) {
			return nil
		}
		return err
	})
}

// FailedMessages returns how many messages the member on host could not send to another member since its etcd started.
func (c *Cluster) FailedMessages(ctx context.Context, host, member string) (uint64, error) {
	counters, err := c.Scrape(ctx, host)
	return counters.FailedMessages[member], err
}

func (c *Cluster) changeMember(ctx context.Context, step, member string, do func(context.Context, *session, uint64) error) error {
	id, err := strconv.ParseUint(member, 16, 64)
	if err != nil {
		return c.cfg.stepError(step+member, err)
	}
	return c.changeMembers(ctx, step+member, func(ctx context.Context, s *session) error { return do(ctx, s, id) })
}

func (c *Cluster) changeMembers(ctx context.Context, step string, do func(context.Context, *session) error) error {
	if err := c.askVoter(ctx, c.Gather(ctx), do); err != nil {
		return c.cfg.stepError(step, unansweredError("ask etcd", err))
	}
	return nil
}

// IsPassing reports whether a later try of a change may succeed: etcd has refused it right after another change, while it
// elected a leader, or because a learner lacked a few entries, or etcd has not answered in time, as while it removes a dead member.
func IsPassing(err error) bool {
	for _, passing := range []error{
		rpctypes.ErrUnhealthy, rpctypes.ErrMemberNotEnoughStarted, rpctypes.ErrMemberLearnerNotReady, rpctypes.ErrNoLeader,
		rpctypes.ErrLeaderChanged, rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, errNoVoter,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return errors.Is(err, context.DeadlineExceeded)
}

// CheckPorts connects from a host of the inventory to each of the peer URLs. It returns an error for the first URL that
// does not accept a connection.
func (c *Cluster) CheckPorts(ctx context.Context, host string, urls []string) error {
	i := c.cfg.peerIndex(host)
	if i < 0 {
		return fmt.Errorf("%s is not a host of the cluster", host)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	p := pool.New().WithErrors().WithFirstError()
	for _, text := range urls {
		p.Go(func() error {
			u, err := url.Parse(text)
			if err != nil {
				return err
			}
			conn, err := c.cfg.Peers[i].Dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), u.Port()))
			if err != nil {
				return fmt.Errorf("%s does not reach %s: %w", host, u.Host, err)
			}
			return conn.Close()
		})
	}
	return p.Wait()
}

package etcd

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"holdfast/engine/etcdfacts"
)

// maxMoves bounds the tries of MoveLeader. After each try it gathers facts
// again.
const maxMoves = 3

// MoveLeader moves leadership off a host and returns the host of the new leader. It chooses the healthy voter on
// another host that has applied most, and checks that this member then leads. If a healthy member on another host
// already leads, it does nothing. Its errors name the hosts.
func (c *Cluster) MoveLeader(ctx context.Context, from string) (string, error) {
	var causes []error
	for range maxMoves {
		facts := c.Gather(ctx)
		leader, ok := findLeader(facts)
		switch {
		case !ok:
			return "", c.cfg.stepError("move the leader off "+from, joinDistinct(append(causes, noLeaderError(facts))...))
		case leader.Host != from && leader.Healthy:
			return leader.Host, nil
		case leader.Host != from: // other members name this leader: gather again to check whether it answers
			causes = append(causes, fmt.Errorf("%s on %s leads but is not healthy: %s", leader.Name, leader.Host, leader.Problem))
			continue
		}
		to, err := chooseSuccessor(facts, from)
		if err != nil {
			return "", c.cfg.stepError("move the leader off "+from, joinDistinct(append(causes, err)...))
		}
		if err := c.handOver(ctx, leader, to); err != nil {
			causes = append(causes, fmt.Errorf("to %s on %s: %w", to.Name, to.Host, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	facts := c.Gather(ctx)
	if leader, ok := findLeader(facts); ok && leader.Healthy && leader.Host != from {
		return leader.Host, nil
	}
	causes = append(causes, fmt.Errorf("it still leads after %d tries", maxMoves))
	return "", c.cfg.stepError("move the leader off "+from, joinDistinct(causes...))
}

func findLeader(facts etcdfacts.ClusterFacts) (etcdfacts.Member, bool) {
	for _, m := range facts.Members {
		if m.Leader {
			return m, true
		}
	}
	return etcdfacts.Member{}, false
}

func noLeaderError(facts etcdfacts.ClusterFacts) error {
	if facts.Problem != "" {
		return errors.New(facts.Problem)
	}
	return errors.New("no leader")
}

func chooseSuccessor(facts etcdfacts.ClusterFacts, from string) (etcdfacts.Member, error) {
	var able []etcdfacts.Member
	var causes []error
	for _, m := range facts.Voters() {
		switch {
		case m.Host == from:
		case m.Host == "":
			causes = append(causes, fmt.Errorf("%s is on no host of the inventory", m.Name))
		case !m.Healthy:
			causes = append(causes, fmt.Errorf("%s on %s is not healthy: %s", m.Name, m.Host, m.Problem))
		default:
			able = append(able, m)
		}
	}
	if len(able) == 0 {
		return etcdfacts.Member{}, errors.Join(append([]error{errors.New("no other healthy voter")}, causes...)...)
	}
	sort.SliceStable(able, func(i, j int) bool { return able[i].RaftIndex > able[j].RaftIndex })
	return able[0], nil
}

// handOver asks the leader to make another member lead. The leader answers after that member leads.
func (c *Cluster) handOver(ctx context.Context, leader, to etcdfacts.Member) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	i := c.cfg.peerIndex(leader.Host)
	if i < 0 {
		return fmt.Errorf("%s leads but is on no host of the inventory", leader.Name)
	}
	id, err := strconv.ParseUint(to.ID, 16, 64)
	if err != nil {
		return fmt.Errorf("member ID %s: %w", to.ID, err)
	}
	s, err := c.openSession(ctx, c.cfg.Peers[i])
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.MoveLeader(ctx, id); err != nil {
		return unansweredError("move", err)
	}
	return nil
}

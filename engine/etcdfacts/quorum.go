package etcdfacts

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// MayLose returns nil if the host may go down now, or else an error with the
// reason. away are the other hosts that are down or may go down at any moment:
// held by somebody, unreachable, or in the same batch. Exactly one voter must be
// known to run on the host. All other voters must be healthy and not away, and
// must be a quorum without it. allowOutage waives only the quorum, and only for
// clusters of one or two voters, which cannot spare any. The host must not go
// down while the cluster has a Problem, an alarm or a learner, or while members
// would refuse each other after a restart.
func (c ClusterFacts) MayLose(host string, away []string, allowOutage bool) error {
	if c.Problem != "" {
		return c.quorumError(c.Problem)
	}
	if len(c.Alarms) > 0 {
		return c.quorumError("alarm " + strings.Join(c.Alarms, ", "))
	}
	voters := c.Voters()
	if len(voters) < len(c.Members) {
		return c.quorumError("it has a learner; wait until the learner is promoted, or remove it")
	}
	lost, left, problems := 0, 0, []string(nil)
	for _, m := range voters {
		peer, refused := c.failedPeerCertificate(m.Host)
		refused = refused && len(voters) > 1
		switch {
		case m.Host == host && host != "":
			lost++
			if refused && m.Healthy {
				problems = append(problems, "member "+m.Name+" could not join again: "+peer.Text)
			}
		case !m.Healthy:
			problems = append(problems, fmt.Sprintf("member %s is not healthy: %s", m.Name, m.Problem))
		case m.Host != "" && slices.Contains(away, m.Host):
			problems = append(problems, fmt.Sprintf("member %s is away: its host is unreachable, held or being disrupted", m.Name))
		case refused:
			problems = append(problems, "member "+m.Name+" could not connect to a member that restarts: "+peer.Text)
		default:
			left++
		}
	}
	if len(problems) > 0 {
		sort.Strings(problems)
		return c.quorumError(strings.Join(problems, "; "))
	}
	if lost != 1 {
		return c.quorumError(fmt.Sprintf("%d of its %d voters run on %s; there must be one", lost, len(voters), host))
	}
	if quorum := QuorumOf(len(voters)); left < quorum && (!allowOutage || len(voters) > 2) {
		hint := ""
		if len(voters) <= 2 {
			hint = "; allow_outage = true in its etcd_cluster block accepts that"
		}
		return c.quorumError(fmt.Sprintf("%d of %d voters would be left, the quorum is %d%s", left, len(voters), quorum, hint))
	}
	return nil
}

func (c ClusterFacts) quorumError(reason string) error {
	return fmt.Errorf("etcd cluster %s: %s", c.Name, reason)
}

// QuorumOf returns how many of n voters must be healthy for etcd to accept
// writes: more than half.
func QuorumOf(n int) int { return n/2 + 1 }

// Margin returns how many more voters the cluster can lose and still accept
// writes. A negative margin means that the quorum is lost.
func (c ClusterFacts) Margin() int { return c.CountHealthy() - QuorumOf(len(c.Voters())) }

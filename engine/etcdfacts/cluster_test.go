package etcdfacts_test

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"holdfast/engine/etcdfacts"
)

// The test tries every subset of healthy voters, every subset of away hosts and
// every host, for one to seven voters (for seven voters, at most two hosts are
// away). A host may go down if all other voters are healthy and not away, and
// these others are the majority.
func TestMayLoseEverySubset(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 7; n++ {
		for up := range 1 << n {
			c := cluster(n, up)
			for gone := range 1 << n {
				if n == 7 && bits.OnesCount(uint(gone)) > 2 {
					continue // more away hosts add no case
				}
				away := subsetOfHosts(n, gone)
				for i := range n {
					others := 1<<n - 1 - 1<<i
					want := up&others == others && gone&others == 0 && 2*(n-1) > n
					if got := c.MayLose(host(i), withoutHosts(away, host(i)), false) == nil; got != want {
						t.Fatalf("%d voters, up %07b, away %07b, lose %d: allowed %v, want %v", n, up, gone, i, got, want)
					}
					waived := up&others == others && gone&others == 0 && (2*(n-1) > n || n <= 2)
					if got := c.MayLose(host(i), withoutHosts(away, host(i)), true) == nil; got != waived {
						t.Fatalf("%d voters, up %07b, away %07b, lose %d with allow_outage: allowed %v, want %v", n, up, gone, i, got, waived)
					}
				}
			}
		}
	}
}

func host(i int) string { return fmt.Sprintf("etcd-%d", i) }

func cluster(n, up int) etcdfacts.ClusterFacts {
	c := etcdfacts.ClusterFacts{Name: "main"}
	for i := range n {
		c.Members = append(c.Members, etcdfacts.Member{Name: host(i), Host: host(i), Healthy: up>>i&1 == 1})
	}
	return c
}

func subsetOfHosts(n, bits int) []string {
	var names []string
	for i := range n {
		if bits>>i&1 == 1 {
			names = append(names, host(i))
		}
	}
	return names
}

func withoutHosts(names []string, name string) []string {
	var out []string
	for _, s := range names {
		if s != name {
			out = append(out, s)
		}
	}
	return out
}

func TestMayLoseNeverInDoubt(t *testing.T) {
	for n := 1; n <= 7; n++ {
		whole := 1<<n - 1
		for _, tc := range []struct {
			name  string
			spoil func(*etcdfacts.ClusterFacts)
			want  string
		}{
			{"problem", func(c *etcdfacts.ClusterFacts) { c.Problem = "certificate expired" }, "certificate expired"},
			{"alarm", func(c *etcdfacts.ClusterFacts) { c.Alarms = []string{"NOSPACE"} }, "alarm NOSPACE"},
			{"learner", func(c *etcdfacts.ClusterFacts) {
				c.Members = append(c.Members, etcdfacts.Member{Learner: true, Healthy: true})
			}, "learner"},
			{"its own member is a learner", func(c *etcdfacts.ClusterFacts) { c.Members[0].Learner = true }, "learner"},
			{"not a member", func(c *etcdfacts.ClusterFacts) { c.Members[0].Host = "elsewhere" }, "0 of its"},
			{"host of a member not known", func(c *etcdfacts.ClusterFacts) { c.Members[0].Host = "" }, "0 of its"},
			{"two members on the host", func(c *etcdfacts.ClusterFacts) {
				c.Members[n-1].Host, c.Members = host(0), append(c.Members, c.Members[0])
			}, "of its"},
			{"no members", func(c *etcdfacts.ClusterFacts) { c.Members = nil }, "0 of its 0"},
		} {
			c := cluster(n, whole)
			tc.spoil(&c)
			err := c.MayLose(host(0), nil, true)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "etcd cluster main: ") {
				t.Errorf("%d voters, %s: %v, want %q", n, tc.name, err, tc.want)
			}
		}
	}
}

// The error names every member that forbids the disruption, in a fixed order,
// and the operator's next step.
func TestMayLoseReasons(t *testing.T) {
	c := cluster(5, 0b01011)
	c.Members[2].Problem = "connection refused"
	c.Members[4].Problem = "raft index 40000 behind"
	want := "etcd cluster main: member etcd-1 is away: its host is unreachable, held or being disrupted; " +
		"member etcd-2 is not healthy: connection refused; member etcd-4 is not healthy: raft index 40000 behind"
	if err := c.MayLose("etcd-0", []string{"etcd-1"}, false); err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	for n, want := range map[int]string{
		1: "etcd cluster main: 0 of 1 voters would be left, the quorum is 1; allow_outage = true in its etcd_cluster block accepts that",
		2: "etcd cluster main: 1 of 2 voters would be left, the quorum is 2; allow_outage = true in its etcd_cluster block accepts that",
	} {
		if err := cluster(n, 3).MayLose("etcd-0", nil, false); err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestClusterCounts(t *testing.T) {
	for _, tc := range []struct{ n, quorum, spare int }{{1, 1, 0}, {2, 2, 0}, {3, 2, 1}, {4, 3, 1}, {5, 3, 2}, {6, 4, 2}, {7, 4, 3}} {
		c := cluster(tc.n, 1<<tc.n-1)
		c.Members = append(c.Members, etcdfacts.Member{Name: "new", Learner: true, Healthy: true})
		if q := etcdfacts.QuorumOf(tc.n); q != tc.quorum {
			t.Errorf("the quorum of %d is %d, not %d", tc.n, q, tc.quorum)
		}
		if c.Margin() != tc.spare || len(c.Voters()) != tc.n || c.CountHealthy() != tc.n {
			t.Errorf("%d voters and a learner: margin %d, voters %d, healthy %d", tc.n, c.Margin(), len(c.Voters()), c.CountHealthy())
		}
		c.Members[0].Healthy = false
		if c.Margin() != tc.spare-1 {
			t.Errorf("%d voters, one sick: margin %d", tc.n, c.Margin())
		}
	}
	c := cluster(3, 7)
	if c.Leader() != "" {
		t.Errorf("leader %q of a cluster without", c.Leader())
	}
	c.Members[1].Leader = true
	if c.Leader() != "etcd-1" {
		t.Errorf("leader %q", c.Leader())
	}
}

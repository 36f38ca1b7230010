package membership

import (
	"fmt"

	"holdfast/engine/etcdfacts"
)

// Count is how many voters a cluster has, and how many of them are healthy.
type Count struct {
	Voters  int `json:"voters"`
	Healthy int `json:"healthy"`
}

// CountVoters counts the members that vote.
func CountVoters(members []Member) Count {
	var c Count
	for _, m := range members {
		if m.Learner {
			continue
		}
		c.Voters++
		if m.Healthy {
			c.Healthy++
		}
	}
	return c
}

// unseenVoters returns the names of the voters that are not healthy.
func unseenVoters(members []Member) (names []string) {
	for _, m := range members {
		if !m.Learner && !m.Healthy {
			names = append(names, m.DisplayName())
		}
	}
	return names
}

// Quorum returns how many voters must be healthy.
func (c Count) Quorum() int { return etcdfacts.QuorumOf(c.Voters) }

// QuorumLives reports whether a quorum lives, also one that this machine does not see whole: a voter is healthy only if it has
// answered a read that needs the consent of a quorum.
func (c Count) QuorumLives() bool { return c.Healthy > 0 }

// Margin returns how many healthy voters there are beyond the quorum.
func (c Count) Margin() int { return c.Healthy - c.Quorum() }

func (c Count) describeMargin() string {
	switch m := c.Margin(); {
	case m < 0:
		return fmt.Sprintf("below the quorum of %d", c.Quorum())
	case m == 0:
		return "none to spare"
	default:
		return fmt.Sprintf("%d to spare", m)
	}
}

func (c Count) withoutMember(m Member) Count {
	c.Voters--
	if m.Healthy {
		c.Healthy--
	}
	return c
}

// Refusal is the reason why the membership must not be changed now.
type Refusal struct {
	Cluster string      `json:"cluster"`
	Kind    RefusalKind `json:"kind"`
	Host    string      `json:"host,omitempty"`
	Member  string      `json:"member,omitempty"` // its name, or its ID if it has never started
	Count   Count       `json:"count"`
	Text    string      `json:"text"`
}

// Error returns the text with the name of the cluster.
func (r *Refusal) Error() string { return fmt.Sprintf("etcd cluster %s: %s", r.Cluster, r.Text) }

// RefusalKind is the kind of a refusal.
type RefusalKind string

// The kinds.
const (
	MembersUnknown  RefusalKind = "members-unknown"  // nobody knows the members
	NothingWanted   RefusalKind = "nothing-wanted"   // no host should have a voter
	HasAlarm        RefusalKind = "alarm"            // etcd has raised an alarm
	QuorumLost      RefusalKind = "quorum-lost"      // too few voters are healthy for any change
	SeveralLearners RefusalKind = "several-learners" // somebody else changes the membership
	UnclaimedMember RefusalKind = "unclaimed-member" // a member is on no host of the inventory, and no person has named it for removal
	UnhealthyVoter  RefusalKind = "unhealthy-voter"  // a voter that may come back is down
	HealthyNamed    RefusalKind = "healthy-named"    // a person names a healthy voter for removal, but its host should have one
	NoMargin        RefusalKind = "no-margin"        // a member must restart, and the quorum needs it
	SettingsClash   RefusalKind = "settings-clash"   // a member with the wanted settings would harm the others, or itself
	SettingFixed    RefusalKind = "setting-fixed"    // a setting that can be set only on a new member differs
	UnknownCA       RefusalKind = "unknown-ca"       // other members would have to trust a CA that is only known from a host
	HostNotReady    RefusalKind = "host-not-ready"   // a host should get a voter, but cannot have one now
)

func (d decision) refuseCluster(kind RefusalKind, text string) *Refusal {
	return &Refusal{Cluster: d.Cluster, Kind: kind, Count: d.countVoters(), Text: text}
}

func (d decision) refuseMember(kind RefusalKind, m Member, text string) *Refusal {
	r := d.refuseCluster(kind, text)
	r.Member, r.Host = m.DisplayName(), m.Host
	return r
}

func (d decision) refuseHost(h Host, text string) *Refusal {
	r := d.refuseCluster(HostNotReady, text)
	r.Host = h.Name
	return r
}

func (d decision) removalText(m Member) string {
	before, after := d.countVoters(), d.countVoters().withoutMember(m)
	return fmt.Sprintf("%d voters, %d healthy: removing %s would leave %d of %d, %s",
		before.Voters, before.Healthy, m.DisplayName(), after.Healthy, after.Voters, after.describeMargin())
}

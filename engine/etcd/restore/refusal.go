package restore

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcdfacts"
)

// Refusal is the reason why no restore may start now.
type Refusal struct {
	Cluster string      `json:"cluster"`
	Kind    RefusalKind `json:"kind"` // kind of the reason
	Text    string      `json:"text"` // sentence with the next step
}

// Error returns the text with the name of the cluster.
func (r *Refusal) Error() string { return fmt.Sprintf("etcd cluster %s: %s", r.Cluster, r.Text) }

// RefusalKind is the kind of a refusal.
type RefusalKind string

// The kinds.
const (
	Unknown         RefusalKind = "unknown"          // nobody knows whether a quorum lives
	QuorumLives     RefusalKind = "quorum-lives"     // a quorum answers
	QuorumMayLive   RefusalKind = "quorum-may-live"  // a quorum may come back
	NoSource        RefusalKind = "no-source"        // there are no data for the new cluster
	Foreign         RefusalKind = "foreign"          // the snapshot is of another cluster
	UnlikeHistories RefusalKind = "unlike-histories" // the hosts have data of several clusters
	NoHost          RefusalKind = "no-host"          // no host can get the new data
)

func (s State) refuseRestore(kind RefusalKind, text string) *Refusal {
	return &Refusal{Cluster: s.Cluster, Kind: kind, Text: text}
}

func (s State) checkQuorumLost() error {
	for _, h := range s.Hosts {
		if h.Unmounted != "" && !s.IsLost(h.Name) {
			return s.refuseRestore(QuorumMayLive, fmt.Sprintf("host %s: %s is not mounted, and the data of its member may be there: mount it; if that disk is gone for good, use --lost %s",
				h.Name, h.Unmounted, h.Name))
		}
		if h.Leaving && !s.IsLost(h.Name) {
			return s.refuseRestore(QuorumMayLive, fmt.Sprintf("host %s leaves the site, so nobody asks it, and its member may live: %s", h.Name, membership.AdviceForLeaving))
		}
		if h.Unreachable != "" && !s.IsLost(h.Name) {
			return s.refuseRestore(QuorumMayLive, fmt.Sprintf("host %s is unreachable (%s): its member may live; if it is gone for good, use --lost %s",
				h.Name, h.Unreachable, h.Name))
		}
	}
	for _, r := range s.listRosters() {
		if s.From != "" && r.history != s.historyOf(s.From) { // a person has said that it is another cluster
			continue
		}
		if err := s.checkRoster(r); err != nil {
			return err
		}
	}
	return nil
}

func (s State) checkRoster(r roster) error {
	var living []string
	voters := 0
	for _, m := range r.members {
		if m.Learner {
			continue
		}
		voters++
		i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == m.Host })
		switch {
		case s.IsLost(m.Name) || s.IsLost(m.ID) || s.IsLost(m.Host):
		case i < 0:
			return s.refuseRestore(QuorumMayLive, fmt.Sprintf("voter %s is on no host of the inventory: it may live; if it is gone for good, use --lost %s",
				m.DisplayName(), m.DisplayName()))
		case s.Hosts[i].isOfOther(r.history): // its data are of another cluster
		case s.mayHaveMember(s.Hosts[i]) && (s.Hosts[i].DataOf == "" || s.Hosts[i].DataOf == m.ID):
			living = append(living, s.Hosts[i].Name)
		}
	}
	slices.Sort(living)
	if quorum := etcdfacts.QuorumOf(voters); len(living) >= quorum {
		return s.refuseRestore(QuorumMayLive, fmt.Sprintf("%s (as %s says), %d have their data (%s): the quorum of %d may live; start etcd there, "+
			"or if the data of one are useless, use --lost HOST", countVoters(voters), r.from, len(living), strings.Join(living, ", "), quorum))
	}
	return nil
}

func (s State) unreadText() string {
	var list []string
	for _, h := range s.Hosts {
		if s.mayHaveMember(h) && h.Unread != "" {
			list = append(list, h.Name+": "+h.Unread)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, "; ") + ")"
}

func joinOr(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return strings.Join(list, ", ")
}

func countVoters(n int) string {
	if n == 1 {
		return "1 voter"
	}
	return fmt.Sprintf("%d voters", n)
}

package restore

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcd/membership"
)

// Step is one step of a restore.
type Step struct {
	Action Action `json:"action"`           // the action
	Host   string `json:"host,omitempty"`   // host of the step
	Reason string `json:"reason,omitempty"` // reason for the step, or source of the data
}

// Action is the kind of a step.
type Action string

// The actions. After Start, the cluster runs with one voter. After Finish, package membership adds the others.
const (
	Preflight Action = "preflight"          // checks whether the host can get the new data
	Issue     Action = "issue-certificates" // makes keys on that host, and signs certificates for them
	Build     Action = "build"              // stops etcd on that host, and makes the new data beside the old data
	SetAside  Action = "set-aside"          // stops etcd on another host, and renames its data directory if there is one
	Replace   Action = "replace"            // sets the old data aside, and puts the new data in their place
	Start     Action = "start"              // starts the new cluster of one voter, and waits until it is healthy
	Finish    Action = "finish"             // removes the record and the uploaded snapshot
)

// String returns the action as people read it, and as steps are named in events: set aside.
func (a Action) String() string { return strings.ReplaceAll(string(a), "-", " ") }

// Next returns the next step. An error is a *Refusal.
func Next(s State) (Step, error) {
	if s.Problem != "" {
		return Step{}, s.refuseRestore(Unknown, s.Problem)
	}
	if s.quorumLives() {
		return s.nextLiving()
	}
	if placed, ok := s.findHost(func(h Host) bool { return h.Phase == Placed }); ok {
		if step, ok := s.nextToClean(placed.Name); ok {
			return step, nil
		}
		if placed.Uncertified != "" { // the certificates have expired since Issue
			return Step{Action: Issue, Host: placed.Name, Reason: placed.Uncertified}, nil
		}
		return Step{Action: Start, Host: placed.Name}, nil
	}
	source := s.Source()
	for _, check := range []func() error{s.checkHistories, func() error { return s.checkOrigin(source) }, s.checkQuorumLost} {
		if err := check(); err != nil {
			return Step{}, err
		}
	}
	ready, ok := s.findHost(func(h Host) bool { return h.Phase == Ready && (h.Of == source.Identity || source.Identity == "") })
	if !ok {
		return s.nextBuild(source)
	}
	if step, ok := s.nextToClean(ready.Name); ok {
		return step, nil
	}
	return Step{Action: Replace, Host: ready.Name}, nil
}

// nextLiving returns the next step of a restore whose new cluster has started. It refuses the restore of any other cluster
// with a living quorum.
func (s State) nextLiving() (Step, error) {
	placed, ok := s.findHost(func(h Host) bool {
		return h.Phase == Placed && slices.ContainsFunc(s.Answers, func(m membership.Member) bool { return m.Host == h.Name && m.Healthy })
	})
	if !ok {
		c := membership.CountVoters(s.Answers)
		if c.Margin() < 0 {
			return Step{}, s.refuseRestore(QuorumLives, fmt.Sprintf("%s, and only %d answers a read, but that needs the consent of %d: "+
				"a quorum lives that this machine does not see; repair the way to the others", countVoters(c.Voters), c.Healthy, c.Quorum()))
		}
		return Step{}, s.refuseRestore(QuorumLives, fmt.Sprintf("%s, %d answer: the quorum of %d lives; "+
			"replace single members with holdfast etcd members apply", countVoters(c.Voters), c.Healthy, c.Quorum()))
	}
	if step, ok := s.nextToClean(placed.Name); ok {
		return step, nil
	}
	return Step{Action: Finish, Host: placed.Name}, nil
}

// findHost returns the first host with the record of a restore for which fits returns true. It ignores unreachable and
// lost hosts.
func (s State) findHost(fits func(Host) bool) (Host, bool) {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool {
		return h.Unreachable == "" && h.Record == membership.Restoring && !s.IsLost(h.Name) && fits(h)
	})
	if i < 0 {
		return Host{}, false
	}
	return s.Hosts[i], true
}

// nextToClean returns the step that stops etcd on the next host and sets its data aside. A host without data needs this
// step, too: if etcd kept running there, it could create a cluster of its own. The chosen host, which has the new data, members
// of the new cluster, and unreachable hosts get no such step.
func (s State) nextToClean(chosen string) (Step, bool) {
	for _, h := range s.Hosts {
		joined := s.quorumLives() && slices.ContainsFunc(s.Answers, func(m membership.Member) bool { return m.Host == h.Name })
		if h.Name != chosen && h.Unreachable == "" && !h.Cleaned && !joined {
			return Step{Action: SetAside, Host: h.Name}, true
		}
	}
	return Step{}, false
}

// nextBuild returns the next step towards new data. A host whose data are the source gets the new data itself. The new data
// of a snapshot go to the first host that passes the preflight.
func (s State) nextBuild(source Source) (Step, error) {
	if source.Identity == "" {
		return Step{}, s.refuseRestore(NoSource, "no reachable host has readable data of this cluster"+s.unreadText()+
			"; name a snapshot: holdfast etcd restore "+s.Cluster+" FILE")
	}
	candidates := s.listCandidates(source)
	var failed []string
	for _, h := range candidates {
		switch {
		case h.Failed != "":
			failed = append(failed, h.Name+": "+h.Failed)
		case !h.Checked:
			return Step{Action: Preflight, Host: h.Name}, nil
		case h.Uncertified != "": // now, before any data are touched
			return Step{Action: Issue, Host: h.Name, Reason: h.Uncertified}, nil
		default:
			return Step{Action: Build, Host: h.Name, Reason: source.describeSource()}, nil
		}
	}
	return Step{}, s.refuseRestore(NoHost, "no host can have the new data: "+joinOr(failed, "no host that is to have a voter is reachable"))
}

// listCandidates returns the hosts that may get the new data. Those that the operator has declared lost come last.
func (s State) listCandidates(source Source) []Host {
	var first, last []Host
	for _, h := range s.Hosts {
		switch {
		case h.Unreachable != "" || source.Host != "" && h.Name != source.Host || source.Host == "" && h.Retired:
		case s.IsLost(h.Name):
			last = append(last, h)
		default:
			first = append(first, h)
		}
	}
	return append(first, last...)
}

func (source Source) describeSource() string {
	if source.Host != "" {
		return fmt.Sprintf("from the data of %s, revision %d", source.Host, source.Revision)
	}
	return fmt.Sprintf("from the snapshot %s, revision %d", source.Path, source.Revision)
}

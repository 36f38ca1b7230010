package membership

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine/etcdfacts"
)

// Next returns the next step towards a voter on each host that is not retired, and no other members. An error is a *Refusal.
func Next(s State) (MemberStep, error) {
	d := decision{s}
	step, err := d.nextBroken()
	if err == nil && step.Action == Done {
		step, err = d.nextChange()
	}
	if err != nil {
		return MemberStep{}, err
	}
	return d.issueFirst(step)
}

// decision chooses the next step, or refuses. The methods of State only answer questions.
type decision struct{ State }

// nextChange returns the next step of a cluster whose members can use their certificates.
func (d decision) nextChange() (MemberStep, error) {
	switch {
	case d.Problem != "":
		return MemberStep{}, d.refuseCluster(MembersUnknown, d.Problem)
	case !slices.ContainsFunc(d.Hosts, func(h Host) bool { return !h.Retired }):
		return MemberStep{}, d.refuseCluster(NothingWanted, "no host is to have a voter; a cluster keeps at least one: name it on a host that is not retired")
	case len(d.Members) == 0:
		return d.nextOfNew()
	case len(d.Alarms) > 0:
		return MemberStep{}, d.refuseCluster(HasAlarm, "alarm "+strings.Join(d.Alarms, ", ")+"; clear it before the membership changes")
	}
	switch c := d.countVoters(); {
	case c.Margin() < 0 && c.QuorumLives():
		return MemberStep{}, d.refuseCluster(QuorumLost, fmt.Sprintf("%d of %d voters are healthy, and the quorum is %d, but a read was answered that needs a quorum: "+
			"the others live, and this machine does not reach them; repair the way to %s, and restore nothing", c.Healthy, c.Voters, c.Quorum(), strings.Join(unseenVoters(d.Members), ", ")))
	case c.Margin() < 0:
		return MemberStep{}, d.refuseCluster(QuorumLost, fmt.Sprintf("%d of %d voters are healthy, and the quorum is %d: etcd accepts no change; "+
			"start the others, or if they are gone for good: holdfast etcd restore %s", c.Healthy, c.Voters, c.Quorum(), d.Cluster))
	}
	for _, next := range []func() (MemberStep, error){d.nextHook, d.nextLeftover, d.checkMembers, d.nextDead, d.nextUnhealthy, d.nextLearner, d.nextTrusted, d.checkClash, d.nextMissing, d.nextConfigured, d.nextLeaving, d.checkFixed} {
		if step, err := next(); err != nil || step.Action != Done {
			return d.saveFirst(step), err
		}
	}
	return MemberStep{}, nil
}

// saveFirst returns a snapshot instead of a change of the membership, unless there is a snapshot.
func (d decision) saveFirst(step MemberStep) MemberStep {
	if step.Action.ChangesMembership() && !d.Saved {
		return MemberStep{Action: Snapshot}
	}
	return step
}

// nextHook tells the clients about a change before the next change. Otherwise all members that they know may be removed.
func (d decision) nextHook() (MemberStep, error) {
	if !d.HookDue {
		return MemberStep{}, nil
	}
	return MemberStep{Action: RunHook, Reason: "the voters have changed"}, nil
}

// nextOfNew returns the next step of a cluster that does not exist yet. It refuses if a host does not answer, or has data:
// the cluster may exist and only be down, and there must not be a second one.
func (d decision) nextOfNew() (MemberStep, error) {
	first := d.Hosts[slices.IndexFunc(d.Hosts, func(h Host) bool { return !h.Retired })]
	for _, h := range d.Hosts {
		if h.Unreachable == "" && h.Record == Creating {
			first = h // where a killed run began
		}
	}
	for _, h := range d.Hosts {
		switch {
		case h.Unreachable != "":
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("no member answers, and host %s is unreachable (%s): whether it has data of the cluster is not known", h.Name, h.Unreachable))
		case h.Record == Restoring:
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("a restore of it on host %s has not ended; go on with it: holdfast etcd restore %s", h.Name, d.Cluster))
		case h.HasData && (h.Name != first.Name || h.Record != Creating):
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("no member answers, but host %s has data of etcd: start its member, or restore the cluster (holdfast etcd restore %s); "+
				"for a new cluster, move the data aside", h.Name, d.Cluster))
		case h.Running && h.Record != Creating:
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("no member answers, but etcd runs on host %s: it may be of another cluster; stop it for a new cluster", h.Name))
		case h.Record != Creating && h.Record != NoRecord:
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("no member answers, but host %s has the record of a change (%s), so there was a cluster: "+
				"start its members, or restore it (holdfast etcd restore %s)", h.Name, h.Record, d.Cluster))
		}
	}
	switch {
	case first.Failed != "":
		return MemberStep{}, d.refuseHost(first, fmt.Sprintf("host %s cannot have the first member: %s", first.Name, first.Failed))
	case first.HasData: // a killed run has started it
		return MemberStep{Action: Start, Host: first.Name, Reason: "a run that ended early was creating the cluster"}, nil
	case !first.Checked:
		return MemberStep{Action: Preflight, Host: first.Name}, nil
	}
	return MemberStep{Action: Create, Host: first.Name, Reason: "no host has data of etcd"}, nil
}

// nextLeftover finishes changes that are complete in the member list but not on their hosts.
func (d decision) nextLeftover() (MemberStep, error) {
	for _, h := range d.Hosts {
		m, listed := d.findMember(h.Name)
		switch {
		case h.Unreachable != "":
		case !listed && h.HasData && h.Replaced:
			return MemberStep{Action: SetAside, Host: h.Name, Reason: "its data are of the cluster that a restore has replaced"}, nil
		case h.Record == NoRecord || d.mayHaveMember(h) && !listed:
		case !listed && h.Record != Creating && (h.HasData || h.Running || h.Retired || h.Failed != ""):
			return MemberStep{Action: SetAside, Host: h.Name, Reason: "its member is no longer listed"}, nil
		case listed && !m.Learner && m.Healthy && (h.Record != Removing || d.isWanted(m) && !d.isNamed(m)):
			return MemberStep{Action: Forget, Host: h.Name, Member: m.ID, Reason: "its member votes"}, nil
		}
	}
	return MemberStep{}, nil
}

// checkMembers refuses several learners, unnamed members without a host in the inventory, members whose data are not where the
// inventory says, and named members that are healthy voters of hosts that should have a voter.
func (d decision) checkMembers() (MemberStep, error) {
	if learners := d.listLearners(); len(learners) > 1 {
		return MemberStep{}, d.refuseCluster(SeveralLearners, fmt.Sprintf("it has %d learners, and there must be at most one; promote or remove the others: etcdctl member remove ID", len(learners)))
	}
	for _, m := range d.Members {
		if _, known := d.findHost(m.Host); !known && !d.isNamed(m) {
			return MemberStep{}, d.refuseMember(UnclaimedMember, m, d.describeUnclaimed(m))
		}
		if h, known := d.findHost(m.Host); known && m.Healthy && h.Unreachable == "" && !h.HasData {
			return MemberStep{}, d.refuseHost(h, fmt.Sprintf("member %s runs on host %s, which has no data in the data_dir of the inventory: "+
				"set data_dir to the folder that etcd uses there", m.DisplayName(), h.Name))
		}
		if d.isNamed(m) && m.Healthy && !m.Learner && d.isWanted(m) {
			return MemberStep{}, d.refuseMember(HealthyNamed, m, fmt.Sprintf("member %s is healthy, and host %s is to have a voter; to remove it, retire the host", m.DisplayName(), m.Host))
		}
	}
	return MemberStep{}, nil
}

// nextDead removes a dead voter. No healthy voter is lost, and the quorum does not grow.
func (d decision) nextDead() (MemberStep, error) {
	for _, m := range d.listVoters() {
		if d.isDead(m) {
			reason := "its host answers and has no data of it"
			if d.isNamed(m) {
				reason = "named by --remove-member"
			}
			return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: reason}, nil
		}
	}
	return MemberStep{}, nil
}

// nextUnhealthy starts a voter that was added and never started. It refuses any other unhealthy voter: while a voter is
// down that may come back, nothing changes.
func (d decision) nextUnhealthy() (MemberStep, error) {
	for _, m := range d.listVoters() {
		if m.Healthy {
			continue
		}
		h, _ := d.findHost(m.Host)
		if m.Name == "" && d.isWanted(m) && h.Unreachable == "" && !h.HasData && h.Failed == "" {
			return MemberStep{Action: Start, Host: h.Name, Member: m.ID, Reason: "it was added and has never started"}, nil
		}
		c := d.countVoters()
		text := fmt.Sprintf("%d voters, %d healthy, the quorum is %d: %s may come back", c.Voters, c.Healthy, c.Quorum(), m.DisplayName())
		if d.isLeaving(m) {
			text = d.removalText(m)
		}
		if m.Problem != "" {
			text += " (" + m.Problem + ")"
		}
		return MemberStep{}, d.refuseMember(UnhealthyVoter, m, text+"; "+d.adviseUnhealthy(m, h))
	}
	return MemberStep{}, nil
}

// adviseUnhealthy returns the next step for a voter that is down. A voter whose host answers and has its data is not dead, so no
// removal is offered: it would cost a voter that can be started.
func (d decision) adviseUnhealthy(m Member, h Host) string {
	switch {
	case h.Name == "" || h.Unreachable == "" && (!h.HasData || h.DataOf != m.ID || d.isLeaving(m)):
		return "start it, or if it is dead, use --remove-member " + m.DisplayName()
	case h.Leaving:
		return fmt.Sprintf("host %s leaves the site, so nobody asks it: %s", h.Name, AdviceForLeaving)
	case h.Unreachable != "":
		return fmt.Sprintf("bring host %s back (%s), start it, or if it is dead, use --remove-member %s", h.Name, h.Unreachable, m.DisplayName())
	}
	return fmt.Sprintf("host %s answers and has its data: start etcd there, and read its journal if it does not start", h.Name)
}

// nextLearner makes the learner that a run has added a voter, or removes it again.
func (d decision) nextLearner() (MemberStep, error) {
	learners := d.listLearners()
	if len(learners) == 0 {
		return MemberStep{}, nil
	}
	m := learners[0]
	h, _ := d.findHost(m.Host)
	switch {
	case d.isNamed(m):
		return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: "named by --remove-member"}, nil
	case h.Retired:
		return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: "its host is retired"}, nil
	case h.Failed != "":
		return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: h.Failed}, nil
	case m.Healthy && m.CaughtUp:
		return MemberStep{Action: Promote, Host: m.Host, Member: m.ID}, nil
	case m.Healthy:
		return MemberStep{Action: Await, Host: m.Host, Member: m.ID}, nil
	case h.Unreachable != "":
		return MemberStep{}, d.refuseHost(h, fmt.Sprintf("host %s of learner %s is unreachable (%s); bring the host back, or take the learner back: --remove-member %s", h.Name, m.DisplayName(), h.Unreachable, m.DisplayName()))
	case h.HasData && h.DataOf != m.ID:
		return MemberStep{}, d.refuseHost(h, fmt.Sprintf("host %s of learner %s has data that are not known to be of it (member %q); move them aside, or take the learner back: --remove-member %s", h.Name, m.DisplayName(), h.DataOf, m.DisplayName()))
	case m.Name != "" && !h.HasData: // it started once: its data are gone
		return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: "its data are gone"}, nil
	case h.Running && h.HasData: // it is starting
		return MemberStep{Action: Await, Host: m.Host, Member: m.ID}, nil
	}
	return MemberStep{Action: Start, Host: m.Host, Member: m.ID}, nil
}

// nextMissing adds a learner for the first host without a member, after all such hosts are checked. If only one of several
// hosts can have a member, and the number of voters is odd, it refuses: one more voter would not allow more failures.
func (d decision) nextMissing() (MemberStep, error) {
	var candidates []Host
	var refused []string
	var host Host // the last in refused
	for _, h := range d.Hosts {
		if _, listed := d.findMember(h.Name); listed || h.Retired {
			continue
		}
		if reason := d.whyRefused(h); reason != "" {
			refused, host = append(refused, h.Name+": "+reason), h
		} else {
			candidates = append(candidates, h)
		}
	}
	if i := slices.IndexFunc(candidates, func(h Host) bool { return !h.Checked }); i >= 0 {
		return MemberStep{Action: Preflight, Host: candidates[i].Name}, nil
	}
	voters := len(d.listVoters())
	switch {
	case len(refused) == 0 && len(candidates) == 0:
		return MemberStep{}, nil
	case len(candidates) == 0:
		return MemberStep{}, d.refuseHost(host, "no host without a member can have one: "+strings.Join(refused, "; "))
	case len(refused) > 0 && len(candidates) == 1 && voters%2 == 1:
		more := etcdfacts.QuorumOf(voters + 1)
		return MemberStep{}, d.refuseHost(host, fmt.Sprintf("only host %s of those without a member can have one (%s): with %d voters the quorum is %d, so %d may fail, no more than with %d",
			candidates[0].Name, strings.Join(refused, "; "), voters+1, more, voters+1-more, voters))
	}
	return MemberStep{Action: AddLearner, Host: candidates[0].Name, Reason: d.describeVersions(candidates[0])}, nil
}

// whyRefused returns why the host can have no member now, or "" if it can have one.
func (d decision) whyRefused(h Host) string {
	switch {
	case h.Unreachable != "":
		return h.Unreachable
	case h.HasData:
		return "it has data of etcd that are of no listed member; move them aside"
	case h.Failed != "":
		return h.Failed
	}
	return d.versionProblem(h)
}

// nextLeaving removes a voter that is no longer wanted. The caller makes sure that all voters are healthy, and that all
// hosts that should have a voter have one.
func (d decision) nextLeaving() (MemberStep, error) {
	leaving := slices.DeleteFunc(d.listVoters(), func(m Member) bool { return !d.isLeaving(m) })
	if len(leaving) == 0 {
		return MemberStep{}, nil
	}
	m := leaving[0]
	if i := slices.IndexFunc(leaving, func(m Member) bool { return !m.Leader }); i >= 0 {
		m = leaving[i]
	}
	if m.Leader {
		return MemberStep{Action: MoveLeader, Host: m.Host, Member: m.ID}, nil
	}
	return MemberStep{Action: Remove, Host: m.Host, Member: m.ID, Reason: "its voter is to go"}, nil
}

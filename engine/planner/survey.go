package planner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/kubefacts"
	"holdfast/engine/standing"
)

// surveyResult is the result of the survey. It schedules nothing yet.
type surveyResult struct {
	work         []engine.HostPlan
	matching     []string
	excluded     []engine.Exclusion
	reserved     []engine.Reservation
	warnings     []string
	drift        []engine.HostDrift
	unavailable  map[string]string            // hosts that count as unavailable, and why
	absent       map[string]kubefacts.Absence // compared hosts whose node takes no work; they count as unavailable
	held         map[string]bool              // unavailable hosts with a hold that this run does not adopt
	outsideLimit map[string]int               // by pool: number of hosts outside the limit that do not match
	refusals     []string                     // why nothing may start
	onlyReleased map[string]bool              // hosts that were rolled back: the run only releases them

	passedCanaries map[string][]passedCanary // by pool: matching hosts that count as canaries
	failedHosts    map[string][]string       // by pool: hosts that failed in this run, and selected hosts that are lost, were rolled back or cannot be compared; the run does not try them
}

func surveyHosts(in Input, x index) surveyResult {
	s := surveyResult{
		unavailable: map[string]string{}, absent: map[string]kubefacts.Absence{}, held: map[string]bool{}, outsideLimit: map[string]int{}, onlyReleased: map[string]bool{},
		passedCanaries: map[string][]passedCanary{}, failedHosts: map[string][]string{},
	}
	for _, h := range in.Inventory.Hosts {
		f, ok := in.Facts[h.Name]
		if !ok {
			f.Unreachable = "not gathered"
		}
		st := in.judgeHost(h, f)
		if st.RolloutProblem != "" {
			s.addWarning("%s: %s is not believed: %s; its contents count as unknown; remove it from the host, and find out who wrote it", h.Name, hostscript.RolloutPath, st.RolloutProblem)
		}
		if r := st.Reservation(); r != nil {
			s.reserved = append(s.reserved, *r)
		}
		if countsFailure(in, h) { // although the host may match, or be excluded for another reason now
			s.failedHosts[h.Pool] = append(s.failedHosts[h.Pool], h.Name)
		}
		why := st.Exclusion()
		switch reason := st.Describe(); {
		case why == "":
			if absence := st.NodeAbsence(); absence != kubefacts.Present {
				s.absent[h.Name] = absence
			}
			s.surveyHost(in, x, judgedHost{h, f, st})
		case in.Selected(h):
			if lost, ok := findLostChange(in, h, why); ok {
				why, reason = engine.Lost, describeLostHost(lost, reason)
				s.failedHosts[h.Pool] = append(s.failedHosts[h.Pool], h.Name)
			}
			s.markUnavailable(h, why)
			s.excluded = append(s.excluded, engine.Exclusion{Host: h.Name, Kind: why, Reason: reason})
		default:
			s.markUnavailable(h, why)
			s.addWarning("%s is outside the limit and counts as unavailable: %s", h.Name, reason)
		}
	}
	for _, p := range in.Inventory.Pools {
		if n := s.outsideLimit[p.Name]; n > 0 && in.Play == nil {
			s.addWarning("pool %s: %s, either; later pools do not wait for that", p.Name, countMismatches(n))
		}
	}
	return s
}

func countMismatches(n int) string {
	if n == 1 {
		return "1 host outside the limit does not match"
	}
	return fmt.Sprintf("%d hosts outside the limit do not match", n)
}

func (s *surveyResult) addWarning(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

func (s *surveyResult) markUnavailable(h engine.Host, why engine.ExclusionKind) {
	s.unavailable[h.Name] = string(why)
	if why == engine.Held || why == engine.InMaintenance {
		s.held[h.Name] = true
	}
}

// surveyHost compares one reached host. It adds a selected host to the matching
// hosts, the work or the exclusions, unless the host has only drifted. A host
// with a hold that this run may adopt always has work. If this run does not do
// that work, the host counts as unavailable.
func (s *surveyResult) surveyHost(in Input, x index, j judgedHost) {
	h, f, st := j.host, j.facts, j.standing
	target := in.newTarget(x, h, f)
	d, err := in.compareHost(target)
	if in.Selected(h) {
		s.addFindings(in, h, f, d)
	}
	adopt := st.AdoptedRun()
	if err == nil && len(d.changes) == 0 && adopt == "" {
		if in.passesAsCanary(h) {
			s.passedCanaries[h.Pool] = append(s.passedCanaries[h.Pool], passedCanary{h.Name, in.updatedAt(h, f)})
		}
		if in.Selected(h) && len(d.drift) == 0 {
			s.matching = append(s.matching, h.Name)
		}
		return
	}
	rejected := len(d.changes) > 0 && in.isRejected(st) && (in.Play == nil || d.bringsOS(f))
	why, reason := in.findExclusion(x, comparedHost{j, err, rejected, d.reboot.Refusal, d.oldProcess})
	back := why == engine.RolledBack && adopt != "" // the run only releases the host
	if back {
		why, d = "", difference{drift: d.drift}
	}
	if in.Selected(h) && why != engine.Failed && (err != nil || why != engine.Paused && rejected) {
		s.failedHosts[h.Pool] = append(s.failedHosts[h.Pool], h.Name)
	}
	hp := engine.HostPlan{}
	if in.Selected(h) && why == "" {
		hp = newHostPlan(target, d, adopt)
		if unclear := cmp.Or(describeStrayEtcd(h, f, hp), describeInhibitors(f, hp)); unclear != "" {
			why, reason = engine.Unclear, unclear
		} else if kind, unknown := s.judgeUnknownNode(in, target, hp); kind != "" {
			why, reason = kind, unknown
		}
	}
	switch {
	case in.Selected(h) && why == "":
		if adopt != "" {
			s.addWarning("%s", describeAdoption(st))
		}
		if back {
			s.onlyReleased[h.Name] = true
			s.addWarning("%s: %s; it is only released", h.Name, reason)
		}
		s.work = append(s.work, hp)
		return
	case in.Selected(h):
		s.excluded = append(s.excluded, engine.Exclusion{Host: h.Name, Kind: why, Reason: reason, WaitsForHold: why == engine.Blocked && x.approvedExclusions[h.Name].WaitsForHold})
	case err == nil && len(d.changes) > 0:
		s.outsideLimit[h.Pool]++
	}
	switch {
	case adopt == "":
	case why == engine.Failed:
		s.markUnavailable(h, engine.Failed)
	default:
		s.markUnavailable(h, engine.Held)
		s.addWarning("%s counts as unavailable: %s", h.Name, st.DescribeUnadopted())
	}
}

// addFindings adds the findings on a host that are no work: drift that is only reported, and services that run from
// another deployment than the host and that no run restarts, unless that leaves the host out.
func (s *surveyResult) addFindings(in Input, h engine.Host, f engine.Facts, d difference) {
	if len(d.drift) > 0 {
		s.drift = append(s.drift, engine.HostDrift{Host: h.Name, Changes: d.drift})
	}
	planner := survivorPlanner{in}
	if _, stuck := planner.splitOutdated(h, f); len(stuck) > 0 && d.oldProcess == "" && planner.cannotSpareMember(h) {
		s.addWarning("%s: %s; %s", h.Name, describeOutdated(stuck, f), planner.adviseRestart(h, f, stuck))
	}
}

// describeStrayEtcd returns why the plan must not disrupt a host that runs etcd
// of no cluster of the inventory, alone or beside its member: nobody can check
// the quorum of that cluster. It returns "" if this is not a reason.
func describeStrayEtcd(h engine.Host, f engine.Facts, hp engine.HostPlan) string {
	switch {
	case h.IgnoreEtcd || !hp.Disruptive():
	case h.Cluster == "" && len(f.Etcd) > 0:
		return fmt.Sprintf("it runs etcd (%s) and is in no etcd_cluster of the inventory; give it its etcd_cluster, or, if it may be disrupted all the same, ignore_etcd = true",
			strings.Join(f.Etcd, ", "))
	case h.Cluster != "" && len(f.EtcdServers) > 1:
		return fmt.Sprintf("it runs %d servers of etcd (%s), and only one can be its member of cluster %s; move the others to other hosts, or, if it may be disrupted all the same, ignore_etcd = true",
			len(f.EtcdServers), strings.Join(f.EtcdServers, ", "), h.Cluster)
	}
	return ""
}

// judgedHost is a reached host before the comparison.
type judgedHost struct {
	host     engine.Host
	facts    engine.Facts
	standing standing.Standing
}

// comparedHost is a reached host after the comparison with its desired state.
type comparedHost struct {
	judgedHost
	err      error // error of the comparison
	rejected bool  // the host was rolled back from its desired OS

	rebootRefusal string // why its pool does not allow the reboot that it needs; "": it does
	oldProcess    string // why its new OS would remove a deployment that a service runs from; "": it would not
}

func (in Input) findExclusion(x index, c comparedHost) (engine.ExclusionKind, string) {
	failure, hasFailed := in.Failed[c.host.Name]
	approved := x.approvedExclusions[c.host.Name]
	switch {
	case hasFailed:
		return engine.Failed, failure
	case c.err != nil:
		return engine.Unclear, c.err.Error()
	case c.standing.Flag != standing.NoFlag:
		return engine.Paused, c.standing.DescribeFlag()
	case slices.Contains([]engine.ExclusionKind{engine.Blocked, engine.NeedsFullReboot, engine.OldProcess, engine.BlockedDrain, engine.KubernetesAway}, approved.Kind):
		return approved.Kind, approved.Reason
	case approved.Kind != "" && (!c.rejected || c.standing.MayAdopt()):
		return approved.Kind, "the approved plan leaves it out; the next run takes it"
	case c.rejected:
		return engine.RolledBack, fmt.Sprintf("it was rolled back from %s, which failed there; give it another OS, or try again with --retry-rolled-back", engine.ShortDigest(in.Desired[c.host.Name].OS.Digest()))
	case c.rebootRefusal != "":
		return engine.NeedsFullReboot, c.rebootRefusal
	case c.oldProcess != "":
		return engine.OldProcess, c.oldProcess
	}
	return "", ""
}

func (in Input) isRejected(st standing.Standing) bool {
	return !in.RetryRejected && st.Rejects(digestOf(in.Desired[st.Host].OS))
}

func describeAdoption(st standing.Standing) string {
	if st.Kind == standing.Unproven {
		return st.Host + ": run " + st.Ended.Run + " did not see it whole again, and its hold was ended by force; this run checks that its units are as before: it was " + st.Ended.String()
	}
	said := fmt.Sprintf("%s: run %s ended and left its hold; this run adopts it: %s", st.Host, st.Hold.Run, st.Hold)
	switch st.Kind {
	case standing.HeldByThisRun:
		said = fmt.Sprintf("%s: this run holds it already, and takes it up again: %s", st.Host, st.Hold)
	case standing.HeldByExpiredRun:
		said = fmt.Sprintf("%s: the hold of run %s has expired, and this run adopts it: %s", st.Host, st.Hold.Run, st.Hold)
	default: // of a dead run
	}
	if left := st.Hold.UnitsOmitted; left > 0 {
		said += fmt.Sprintf("; the hold names only %d of %d services that ran before: check the others yourself", len(st.Hold.Units), len(st.Hold.Units)+left)
	}
	return said
}

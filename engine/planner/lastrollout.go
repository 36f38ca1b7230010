package planner

import (
	"fmt"
	"maps"
	"slices"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/standing"
)

// findUnfinishedHosts lists the hosts that an earlier roll-out has not reached,
// if the work would begin another roll-out: nobody has tested a site with two
// unfinished roll-outs. The hosts themselves keep the targets of the last
// roll-out, so every bastion knows these targets. An unknown host counts as
// reached if a run of this bastion has seen its pool complete. Hosts without a
// desired OS do not count, nor does a pool whose hosts wanted different ones in
// that roll-out.
//
// The check ends with the approval: when the run loses a host or finds it
// again, the other hosts continue. Only a roll-out that somebody else has begun
// after the approval stops them. A host that has recorded a roll-out in a format
// of another version of holdfast stops them at any time, because nobody knows
// whether that roll-out is finished.
func findUnfinishedHosts(in Input, x index, s surveyResult) []engine.UnfinishedHost {
	last := x.last
	if unread := hostsWithUnknownRollout(in); len(unread) > 0 && !in.OverIncomplete && startsRollout(in, s) {
		return unread
	}
	if last == nil || in.OverIncomplete || in.Approved != nil && !last.After(in.Approved.LastRollout, in.Run) || !startsOtherRollout(in, x, s, *last) {
		return nil
	}
	return in.hostsBehind(x, *last)
}

// hostsWithUnknownRollout returns the hosts whose roll-out another version of holdfast has recorded, in a format of its own.
func hostsWithUnknownRollout(in Input) (list []engine.UnfinishedHost) {
	for _, h := range in.Inventory.Hosts {
		if schema := in.Facts[h.Name].RolloutSchema; schema != 0 {
			list = append(list, engine.UnfinishedHost{Host: h.Name, Reason: fmt.Sprintf(
				"has a %s of schema %d, and this version of holdfast knows %d; use the version that wrote it, or a later one", hostscript.RolloutPath, schema, engine.RolloutSchema)})
		}
	}
	return list
}

// addOverriddenRollouts adds the roll-outs over which the plan may begin another one. They are its permission if it is saved.
func addOverriddenRollouts(p *engine.Plan, in Input, x index) {
	if !in.OverIncomplete {
		return
	}
	if x.last != nil {
		p.OverriddenRun = x.last.Run
	}
	for _, unread := range hostsWithUnknownRollout(in) {
		p.OverriddenHosts = append(p.OverriddenHosts, unread.Host)
	}
}

// startsRollout reports whether a host boots another OS than it runs.
func startsRollout(in Input, s surveyResult) bool {
	return slices.ContainsFunc(s.work, func(hp engine.HostPlan) bool { return bootsOther(hp.Sequence, in.Facts[hp.Host]) })
}

func (in Input) hostsBehind(x index, roll engine.Rollout) (behind []engine.UnfinishedHost) {
	for _, h := range in.Inventory.Hosts {
		if late, ok := in.isBehind(x, h, roll); ok {
			behind = append(behind, late)
		}
	}
	return behind
}

// FindUnfinished returns the newest roll-out that hosts know, or nil, and the hosts that it has not reached.
func FindUnfinished(in Input) (*engine.Rollout, []engine.UnfinishedHost) {
	in = in.withSelection()
	x := newIndex(in)
	if x.last == nil {
		return nil, nil
	}
	return x.last, in.hostsBehind(x, *x.last)
}

func (in Input) isBehind(x index, h engine.Host, roll engine.Rollout) (late engine.UnfinishedHost, ok bool) {
	target, f := roll.Targets[h.Pool], in.Facts[h.Name]
	b := f.Booted()
	switch {
	case target == "", digestOf(in.Desired[h.Name].OS) == "", f.Reached() && b != nil && b.Digest == target, x.isAbandoned(h.Pool, target):
		return engine.UnfinishedHost{}, false
	case f.Reached() && b != nil:
		return engine.UnfinishedHost{Host: h.Name, Reason: fmt.Sprintf("runs %s, and not %s of run %s", engine.ShortDigest(b.Digest), engine.ShortDigest(target), roll.Run), Target: target}, true
	case in.CompletedOS[h.Pool] != target:
		return engine.UnfinishedHost{Host: h.Name, Reason: fmt.Sprintf("is not known to run %s of run %s", engine.ShortDigest(target), roll.Run), Target: target}, true
	}
	return engine.UnfinishedHost{}, false
}

// isAbandoned reports whether an OS failed on a host and the inventory no
// longer has this OS for any host of the pool. Nobody wants to finish the
// roll-out of such an OS.
func (x index) isAbandoned(pool, digest string) bool {
	return x.rejected[digest] != "" && !x.wanted[pool][digest]
}

func (in Input) describeEndedRollouts(x index) (said []string) {
	if x.last == nil || in.Play != nil {
		return nil
	}
	told := map[string]bool{}
	for _, p := range in.Inventory.Pools {
		digest := x.last.Targets[p.Name]
		if _, asks := x.targets[p.Name]; !told[digest] && asks && x.isAbandoned(p.Name, digest) {
			told[digest] = true
			said = append(said, fmt.Sprintf("the roll-out of %s (run %s) is over: %s was rolled back from it, and pool %s no longer asks for it",
				engine.ShortDigest(digest), x.last.Run, x.rejected[digest], p.Name))
		}
	}
	return said
}

func lastRollout(in Input) *engine.Rollout {
	var last *engine.Rollout
	for _, h := range in.Inventory.Hosts {
		if r, _ := standing.ReadRollout(in.Facts[h.Name]); r != nil && r.After(last, in.Run) {
			last = r
		}
	}
	return last
}

// recordingHosts returns the hosts that report this roll-out, so that an
// operator can find the host that reports a roll-out which nobody has begun.
func recordingHosts(in Input, roll engine.Rollout) []string {
	var names []string
	for _, h := range in.Inventory.Hosts {
		if r, _ := standing.ReadRollout(in.Facts[h.Name]); r != nil && r.Run == roll.Run && r.Number == roll.Number {
			names = append(names, h.Name)
		}
	}
	return names
}

// startsOtherRollout reports whether a host boots an OS that is not the target of its pool in the last roll-out. A pool whose hosts want
// different OSes has no target; once they want the same one again, that is another roll-out.
func startsOtherRollout(in Input, x index, s surveyResult, last engine.Rollout) bool {
	for _, hp := range s.work {
		target, known := last.Targets[hp.Pool]
		if target == "" && (!known || x.targets[hp.Pool] == "") {
			continue
		}
		if os := in.Desired[hp.Host].OS; os != nil && os.Digest() != target && bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			return true
		}
	}
	return false
}

// continuedRollout returns the roll-out to which a host belongs when it gets
// another OS: the last roll-out if its targets are the same or it is
// unfinished, else a new roll-out of this run.
//
// An unfinished roll-out keeps its targets, even if the inventory has newer
// targets for pools that are paused or outside of --limit, whose hosts the run
// does not begin. With the newer targets recorded, the next run would continue
// to them as a part of the last roll-out.
//
// After the approval the roll-out stays the same, also if the run loses hosts.
func continuedRollout(in Input, x index) engine.Rollout {
	last := x.last
	switch {
	case in.Approved != nil && in.Approved.Rollout.Run != "":
		return in.Approved.Rollout
	case last == nil:
		return engine.Rollout{Run: in.Run, Number: 1, Targets: x.targets}
	case maps.Equal(last.Targets, x.targets):
		return *last
	case in.OverIncomplete || !isUnfinished(in, x, *last):
		return nextRollout(in, x)
	}
	targets := maps.Clone(x.targets)
	for pool, digest := range last.Targets {
		if _, ok := x.pools[pool]; ok {
			targets[pool] = digest
		}
	}
	next := *last
	next.Targets = targets
	return next
}

// nextRollout returns the roll-out that follows the last one. If the numbers are
// used up, it names all roll-outs with the same number that hosts report. So it
// is newer than each of them, also than those with a later run ID.
func nextRollout(in Input, x index) engine.Rollout {
	next := engine.Rollout{Run: in.Run, Number: min(x.last.Number+1, engine.MaxRollout), Targets: x.targets}
	if next.Number > x.last.Number {
		return next
	}
	over := append(slices.Clone(x.last.Supersedes), x.last.Run)
	for _, h := range in.Inventory.Hosts {
		if r, _ := standing.ReadRollout(in.Facts[h.Name]); r != nil && r.Number == next.Number && !slices.Contains(over, r.Run) {
			over = append(over, r.Run)
		}
	}
	next.Supersedes = over[max(0, len(over)-engine.MaxSuperseded):]
	return next
}

func isUnfinished(in Input, x index, roll engine.Rollout) bool {
	return slices.ContainsFunc(in.Inventory.Hosts, func(h engine.Host) bool {
		_, late := in.isBehind(x, h, roll)
		return late
	})
}

package planner

import (
	"fmt"

	"holdfast/engine"
)

// findUnfinishedHosts lists the hosts that an earlier roll-out has not reached, where
// the work would begin another: a site on which two roll-outs are half done
// runs versions that nobody has tried together. The hosts themselves keep what
// the last roll-out was to bring, so that any bastion can tell. A host about
// which nothing is known has been reached if a run of this bastion has seen its
// pool complete. Pools that are to have no OS any more are not asked.
//
// What the operator has approved is not asked again: a host that the run loses
// within its budget, or finds again, is no reason to leave the others where
// they are. What somebody else has begun since is.
func findUnfinishedHosts(in Input, x index, s surveyResult) []engine.UnfinishedHost {
	last := x.last
	if last == nil || in.OverIncomplete || in.Approved != nil && !last.After(in.Approved.LastRollout, in.Run) || !startsOtherRollout(in, s, *last) {
		return nil
	}
	var out []engine.UnfinishedHost
	for _, h := range in.Inventory.Hosts {
		if late, ok := in.isBehind(x, h, *last); ok {
			out = append(out, late)
		}
	}
	return out
}

// isBehind reports whether a roll-out has not reached a host, or is not known to.
func (in Input) isBehind(x index, h engine.Host, roll engine.Rollout) (late engine.UnfinishedHost, ok bool) {
	target, f := roll.Targets[h.Pool], in.Facts[h.Name]
	b := f.Booted()
	switch {
	case target == "", x.targets[h.Pool] == "", f.Reached() && b != nil && b.Digest == target, x.isAbandoned(h.Pool, target):
		return engine.UnfinishedHost{}, false
	case f.Reached() && b != nil:
		return engine.UnfinishedHost{Host: h.Name, Reason: fmt.Sprintf("runs %s, and not %s of run %s", engine.ShortDigest(b.Digest), engine.ShortDigest(target), roll.Run), Target: target}, true
	case in.CompletedOS[h.Pool] != target:
		return engine.UnfinishedHost{Host: h.Name, Reason: fmt.Sprintf("is not known to run %s of run %s", engine.ShortDigest(target), roll.Run), Target: target}, true
	}
	return engine.UnfinishedHost{}, false
}

// isAbandoned reports whether an OS failed on a host, which was rolled back, and the
// inventory no longer asks a pool for it: nobody wants that roll-out finished.
func (x index) isAbandoned(pool, digest string) bool {
	return x.rejected[digest] != "" && x.targets[pool] != digest
}

// describeEndedRollouts says which part of the last roll-out is over, although hosts do
// not run what it was to bring.
func (in Input) describeEndedRollouts(x index) (said []string) {
	if x.last == nil || in.Play != nil {
		return nil
	}
	told := map[string]bool{}
	for _, p := range in.Inventory.Pools {
		digest := x.last.Targets[p.Name]
		if !told[digest] && x.targets[p.Name] != "" && x.isAbandoned(p.Name, digest) {
			told[digest] = true
			said = append(said, fmt.Sprintf("the roll-out of %s (run %s) is over: %s was rolled back from it, and pool %s no longer asks for it",
				engine.ShortDigest(digest), x.last.Run, x.rejected[digest], p.Name))
		}
	}
	return said
}

// lastRollout is the newest that any host has seen.
func lastRollout(in Input) *engine.Rollout {
	var last *engine.Rollout
	for _, h := range in.Inventory.Hosts {
		if r := in.Facts[h.Name].Rollout; r != nil && r.After(last, in.Run) {
			last = r
		}
	}
	return last
}

// startsOtherRollout reports whether the work brings a pool another OS than that roll-out.
func startsOtherRollout(in Input, s surveyResult, last engine.Rollout) bool {
	for _, hp := range s.work {
		target := last.Targets[hp.Pool]
		os := in.Desired[hp.Host].OS
		if target != "" && os != nil && os.Digest() != target && bootsOther(hp.Sequence, in.Facts[hp.Host]) {
			return true
		}
	}
	return false
}

package planner

import (
	"maps"
	"slices"

	"holdfast/engine"
)

// continuedRollout is the roll-out that a host becomes a part of when it is brought
// another OS: that of this run, if nothing else is known; or the last one, if that
// was to bring all pools the same.
//
// As long as the last one has not reached every host, a run that was not told to
// leave it unfinished goes on with it, whatever the inventory says by now about
// pools of which the run begins no host: those that are paused, or outside of its
// limit. Else the next run would find that the last roll-out was to bring such a
// pool its new OS, and would begin it.
//
// It stays what it was when the plan was approved, whatever hosts the run loses.
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
		return engine.Rollout{Run: in.Run, Number: min(last.Number+1, engine.MaxRollout), Targets: x.targets}
	}
	targets := maps.Clone(x.targets)
	for pool, digest := range last.Targets {
		if _, ok := x.pools[pool]; ok {
			targets[pool] = digest
		}
	}
	return engine.Rollout{Run: last.Run, Number: last.Number, Targets: targets}
}

// isUnfinished reports whether any host is not known to run what a roll-out was to
// bring it.
func isUnfinished(in Input, x index, roll engine.Rollout) bool {
	return slices.ContainsFunc(in.Inventory.Hosts, func(h engine.Host) bool {
		_, late := in.isBehind(x, h, roll)
		return late
	})
}

package planner

import (
	"maps"
	"slices"

	"holdfast/engine"
)

// continuedRollout returns the roll-out to which a host belongs when it gets another OS:
// the last one if its targets are the same or it is unfinished, else a new one of this
// run.
//
// An unfinished roll-out keeps its targets, even if the inventory has others by now for
// pools of which the run begins no host, because they are paused or outside of --limit.
// Otherwise the next run would find that the last roll-out had such a target, and would
// begin it.
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

func isUnfinished(in Input, x index, roll engine.Rollout) bool {
	return slices.ContainsFunc(in.Inventory.Hosts, func(h engine.Host) bool {
		_, late := in.isBehind(x, h, roll)
		return late
	})
}

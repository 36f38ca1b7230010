package planner

import (
	"holdfast/engine"
	"holdfast/engine/planner/rebootkind"
)

// difference has the changes that modules find on a host, and their steps.
type difference struct {
	changes []engine.Change
	drift   []engine.Change // changes that are only reported
	steps   engine.Steps
	reboot  rebootkind.Decision

	stops []string // services that ran on during soft reboots, and that no drop-in keeps any more

	restartsFirst bool   // the steps only restart services that have survived a soft reboot
	oldProcess    string // why the new OS would remove a deployment that such a service runs from, with the next step; "": it would not
}

func (d difference) bringsOS(f engine.Facts) bool {
	return len(d.steps.Stage) > 0 || bootsOther(d.steps.Reboot, f)
}

package planner

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/planner/rebootkind"
	"holdfast/engine/textutil"
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

func changeWarnings(work []engine.HostPlan) []string {
	type about struct{ pool, text string }
	var groups textutil.Groups[about, string]
	for _, hp := range work {
		for _, c := range hp.Changes {
			for _, text := range c.Warnings {
				if a := (about{hp.Pool, text}); !slices.Contains(groups.Of(a), hp.Host) {
					groups.Add(a, hp.Host)
				}
			}
		}
	}
	var list []string
	for a, hosts := range groups.All() {
		list = append(list, fmt.Sprintf("%s (pool %s): %s", strings.Join(textutil.FoldNames(hosts), " "), a.pool, a.text))
	}
	return list
}

package planview

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// restartedFirst returns the services that a host restarts before the run plans, and makes, its other changes.
func restartedFirst(hp engine.HostPlan) (units []string) {
	if !hp.RestartsFirst {
		return nil
	}
	for _, s := range hp.Sequence {
		if r := s.Do.RestartSurvivors; r != nil {
			units = append(units, r.Units...)
		}
	}
	return units
}

// describeRestarts returns the line of a host about the services that it restarts first, or "".
func describeRestarts(hp engine.HostPlan) string {
	units := restartedFirst(hp)
	if len(units) == 0 {
		return ""
	}
	runs := "which runs"
	if len(units) > 1 {
		runs = "which run"
	}
	return "first restarts " + strings.Join(units, ", ") + ", " + runs + " from another deployment than the host; all other changes follow in a later batch of the run"
}

// orderedActions returns the actions of a host in their order, with the restarts that come before its other changes.
func orderedActions(hp engine.HostPlan) []engine.Action {
	var list []engine.Action
	for _, unit := range restartedFirst(hp) {
		list = append(list, engine.Action{Type: engine.RestartUnit, Unit: unit})
	}
	return slices.Concat(list, hp.Actions)
}

// hostsToReplan returns the hosts of the batches that only restart services in their batch.
func (v *planView) hostsToReplan() (hosts []string) {
	for _, b := range v.p.Batches {
		for _, host := range b.Hosts {
			if hp := v.byHost[host]; hp != nil && hp.RestartsFirst {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

func (v *planView) writeReplanned() {
	if hosts := v.hostsToReplan(); len(hosts) > 0 {
		v.writeLine("  later    %s  %s", strings.Join(textutil.FoldNames(hosts), ", "), v.style.Faint("all other changes, once the run has planned again"))
	}
}

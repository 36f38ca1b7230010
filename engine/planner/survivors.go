package planner

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner/rebootkind"
)

// survivorModule is the module of changes that restart services which have survived a soft reboot.
const survivorModule = "survivor"

// restartTimeout bounds the restart of services. It is longer than the timeout on the host.
const restartTimeout = engine.Duration(4 * time.Minute)

// survivorPlanner plans for services that run on during a soft reboot.
type survivorPlanner struct{ Input }

// cannotSpareMember reports whether a restart of the etcd member of a host costs its cluster the quorum, and the inventory
// does not allow that.
func (in survivorPlanner) cannotSpareMember(h engine.Host) bool {
	c, ok := in.Inventory.Cluster(h.Cluster)
	return ok && isTooSmall(c, in.Inventory.Members(c.Name))
}

func isTooSmall(c engine.Cluster, members []engine.Host) bool {
	voters := 0
	for _, m := range members {
		if !m.Retired {
			voters++
		}
	}
	return !c.AllowOutage && voters <= 2
}

// decideSurvival adds the fate of services that run on to the reboot of a host.
func (in survivorPlanner) decideSurvival(t engine.Target, d *difference) {
	r := d.reboot.Reboot
	if r == nil || len(t.Facts.Survivors) == 0 {
		return
	}
	s := rebootkind.SurvivalInput{Kind: r.Kind, Facts: t.Facts, Changes: d.changes, CannotSpare: in.cannotSpareMember(t.Host)}
	if t.Cluster != nil && t.Cluster.Managed != nil {
		s.Member = t.Cluster.Managed.Unit
	}
	r.Survival, r.Survivors = rebootkind.DecideSurvival(s)
}

// restartChanges returns the changes that restart services which run from another deployment than the host. It returns
// none in a play, which only runs its tasks, and none for a member that its cluster cannot spare.
func (in survivorPlanner) restartChanges(h engine.Host, f engine.Facts) []engine.Change {
	if in.Play != nil || in.cannotSpareMember(h) {
		return nil
	}
	var list []engine.Change
	for _, s := range f.OutdatedSurvivors() {
		after := "the booted OS"
		if booted := f.Booted(); booted != nil {
			after = engine.ShortDigest(booted.Digest)
		}
		list = append(list, engine.Change{
			Module: survivorModule, Resource: "process of " + s.Unit, Before: f.OSOfSurvivor(s), After: after,
			Rule: "built-in: a service that has survived a soft reboot restarts into the booted OS", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: s.Unit}},
		})
	}
	return list
}

// addRestarts adds the steps of restartChanges, and keeps the law of survivors: no deployment goes, and no OS is staged
// that would remove it, while a service runs from it.
func (in survivorPlanner) addRestarts(t engine.Target, restarts []engine.Change, d *difference) {
	outdated := t.Facts.OutdatedSurvivors()
	if len(outdated) == 0 {
		return
	}
	replaces := d.bringsOS(t.Facts) || t.Facts.Staged() != nil && len(d.steps.Reboot) > 0
	if len(restarts) > 0 {
		step := restartStep(t, namesOfSurvivors(outdated), false)
		d.steps.Act = append([]engine.Step{step}, d.steps.Act...)
		if replaces {
			d.steps = engine.Steps{Act: []engine.Step{step}}
			d.restartsFirst = true
		}
		return
	}
	if replaces {
		d.oldProcess = describeOutdated(t.Facts) + ", which the new OS would remove; " + in.adviseRestart(t.Host, outdated)
	}
}

// adviseRestart returns the next step for services that no run restarts.
func (in survivorPlanner) adviseRestart(h engine.Host, outdated []engine.Survivor) string {
	command := "systemctl restart " + strings.Join(namesOfSurvivors(outdated), " ")
	if in.cannotSpareMember(h) {
		return fmt.Sprintf("a restart costs cluster %s its quorum for about 2 s; allow it with allow_outage = true in its etcd_cluster block, or run on the host: %s", h.Cluster, command)
	}
	return "holdfast apply without a playbook restarts it under quorum"
}

func describeOutdated(f engine.Facts) string {
	var parts []string
	for _, s := range f.OutdatedSurvivors() {
		parts = append(parts, s.Unit+" runs from "+f.OSOfSurvivor(s))
	}
	return strings.Join(parts, ", ")
}

func namesOfSurvivors(list []engine.Survivor) []string {
	var names []string
	for _, s := range list {
		names = append(names, s.Unit)
	}
	return names
}

func restartStep(t engine.Target, units []string, always bool) engine.Step {
	return engine.Step{
		Name: "restart survivors", On: t.Host.Name, ChangesHost: true, Timeout: restartTimeout,
		Do: engine.Op{RestartSurvivors: &engine.RestartSurvivors{Units: units, Always: always}},
	}
}

// restartSurvivors restarts the services that have run on during the reboot, under quorum, once the host is back.
func (w *hostWork) restartSurvivors() []engine.Step {
	if w.survival != engine.RestartsAfter {
		return nil
	}
	always := !bootsOther(w.steps.Reboot, w.target.Facts)
	steps := append(leaderSteps(w.target, false), restartStep(w.target, w.survivors, always))
	return append(steps, w.awaitHost()...)
}

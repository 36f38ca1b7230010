package planner

import (
	"fmt"
	"slices"
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

// decideSurvival adds the fates of services that run on to the reboot of a host. It returns the target of the steps.
func (in survivorPlanner) decideSurvival(t engine.Target, d *difference) engine.Target {
	r := d.reboot.Reboot
	x := rebootkind.SurvivalInput{Kind: r.Kind, Facts: t.Facts, Changes: d.changes, Member: memberUnit(t.Cluster), CannotSpare: in.cannotSpareMember(t.Host)}
	d.stops = releasedServices(t, d.changes)
	x.Facts.Survivors = slices.DeleteFunc(slices.Clone(x.Facts.Survivors), func(s engine.Survivor) bool { return slices.Contains(d.stops, s.Unit) })
	s := rebootkind.DecideSurvival(x)
	r.Survival, r.Survivors, r.Restarts = s.Member, s.Runs, s.Restarts
	t.Reboot, t.MustSurvive = r.Kind, r.Survival.SparesMember() && x.CannotSpare
	if !rebootkind.BringsOS(d.changes) { // another OS shows in the facts
		x.Kind = engine.SoftReboot // somebody else may reboot the host first
		t.Restarts = rebootkind.DecideSurvival(x).Restarts
	}
	return t
}

// releasedServices returns the services that would run on during a soft reboot, and whose drop-in for that the changes
// remove. Without it nothing shows that they have run on, and systemd has read the old unit.
func releasedServices(t engine.Target, changes []engine.Change) []string {
	var units []string
	for _, s := range t.Facts.Survivors {
		changed := slices.ContainsFunc(changes, func(c engine.Change) bool { return c.Kind == engine.UnitKind && c.Name() == s.Unit })
		if s.Survives && changed && !t.Desired.KeepsRunning(s.Unit) && s.Unit != memberUnit(t.Cluster) {
			units = append(units, s.Unit)
		}
	}
	return units
}

// memberUnit returns the service of the etcd member of a host in a cluster; "" if it is in none.
func memberUnit(c *engine.Cluster) string {
	if c == nil {
		return ""
	}
	return c.MemberUnit()
}

// hasOwnRoot reports whether a service has a root file system of its own. A restart never brings it into that of the host.
func hasOwnRoot(unit string, f engine.Facts) bool {
	return slices.ContainsFunc(f.SurvivalProblems, func(p engine.SurvivalProblem) bool {
		return p.Unit == unit && p.Obstacle == engine.SurvivesOwnRoot
	})
}

// splitOutdated returns the services that run from another deployment than the host: those that a run may restart, and
// others: the member that its cluster cannot spare, and services for which a restart changes nothing. A play, which only
// runs its tasks, restarts none.
func (in survivorPlanner) splitOutdated(h engine.Host, f engine.Facts) (restarts, stuck []engine.Survivor) {
	for _, s := range f.OutdatedSurvivors() {
		if in.Play != nil || in.isMemberToKeep(h, s.Unit) || hasOwnRoot(s.Unit, f) {
			stuck = append(stuck, s)
		} else {
			restarts = append(restarts, s)
		}
	}
	return restarts, stuck
}

// pendingRestarts returns the services that an earlier run has not restarted after a soft reboot for a configuration. The
// record of the host has them until a run completes it, so only a run that does so restarts them.
func (in survivorPlanner) pendingRestarts(h engine.Host, f engine.Facts) []string {
	if f.Config == nil || f.Config.Applied == nil || in.Play != nil && !in.Play.HasTaskOn(h.Name, engine.ConfigTask) {
		return nil
	}
	var units []string
	for _, s := range f.Survivors {
		if !s.Outdated && f.Config.Applied.Unfinished.MustRestart(s.Unit, f.BootID) && !in.isMemberToKeep(h, s.Unit) {
			units = append(units, s.Unit)
		}
	}
	return units
}

// isMemberToKeep reports whether a service is the etcd member of a host, and its cluster cannot spare it.
func (in survivorPlanner) isMemberToKeep(h engine.Host, unit string) bool {
	c, _ := in.Inventory.Cluster(h.Cluster)
	return in.cannotSpareMember(h) && unit == c.MemberUnit()
}

// restartChanges returns the changes that restart services which run from another deployment than the host, or which have
// run on during a soft reboot for a configuration.
func (in survivorPlanner) restartChanges(h engine.Host, f engine.Facts) []engine.Change {
	var list []engine.Change
	restarts, _ := in.splitOutdated(h, f)
	for _, s := range restarts {
		after := "the booted OS"
		if booted := f.Booted(); booted != nil {
			after = engine.ShortDigest(booted.Digest)
		}
		list = append(list, engine.Change{
			Module: survivorModule, Resource: "process of " + s.Unit, Before: f.OSOfSurvivor(s), After: after,
			Rule: "built-in: a service that has survived a soft reboot restarts into the booted OS", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: s.Unit}},
		})
	}
	for _, unit := range in.pendingRestarts(h, f) {
		list = append(list, engine.Change{
			Module: survivorModule, Resource: "process of " + unit, Before: "started before the configuration took effect", After: "started after that",
			Rule: "built-in: a service that has survived a soft reboot for a configuration restarts", Actions: []engine.Action{{Type: engine.RestartUnit, Unit: unit}},
		})
	}
	return list
}

// addRestarts adds the steps of restartChanges, and keeps the law of survivors: no deployment goes, and no OS is staged
// that would remove it, while a service runs from it. The host must also have the drop-in of the service until then,
// because the drop-in shows that the service may have survived.
func (in survivorPlanner) addRestarts(t engine.Target, d *difference) {
	restarts, stuck := in.splitOutdated(t.Host, t.Facts)
	replaces := d.bringsOS(t.Facts) || t.Facts.Staged() != nil && len(d.steps.Reboot) > 0
	if replaces && len(stuck) > 0 {
		d.oldProcess = describeOutdated(stuck, t.Facts) + ", which the new OS would remove; " + in.adviseRestart(t.Host, t.Facts, stuck)
		return
	}
	names, pending := namesOfSurvivors(restarts), in.pendingRestarts(t.Host, t.Facts)
	if len(names)+len(pending) > 0 {
		d.steps.Act = append([]engine.Step{restartStep(t, slices.Concat(names, pending), len(pending) > 0)}, d.steps.Act...)
	}
	if len(names) == 0 {
		return
	}
	if replaces || slices.ContainsFunc(d.changes, func(c engine.Change) bool { return c.Kind == engine.UnitKind && slices.Contains(names, c.Name()) }) {
		d.steps = engine.Steps{Act: []engine.Step{restartStep(t, names, false)}}
		d.restartsFirst = true
	}
}

// adviseRestart returns the next step for services that a run does not restart.
func (in survivorPlanner) adviseRestart(h engine.Host, f engine.Facts, stuck []engine.Survivor) string {
	names := strings.Join(namesOfSurvivors(stuck), " ")
	for _, s := range stuck {
		if hasOwnRoot(s.Unit, f) {
			return s.Unit + " has a root file system of its own, so nothing shows which OS it runs from: remove it from keep, and stop it on the host: systemctl stop " + s.Unit
		}
	}
	if in.cannotSpareMember(h) {
		return fmt.Sprintf("a restart costs cluster %s its quorum for about 2 s; allow it with allow_outage = true in its etcd_cluster block, or run on the host: systemctl restart %s", h.Cluster, names)
	}
	return "holdfast apply without a playbook restarts it under quorum"
}

func describeOutdated(list []engine.Survivor, f engine.Facts) string {
	var parts []string
	for _, s := range list {
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
	member := slices.Contains(units, memberUnit(t.Cluster))
	return engine.Step{
		Name: "restart survivors", On: t.Host.Name, ChangesHost: true, Timeout: restartTimeout,
		Do: engine.Op{RestartSurvivors: &engine.RestartSurvivors{Units: units, HasMember: member, Always: always}},
	}
}

// restartsOthers reports whether the work on a host only restarts services other than its etcd member.
func restartsOthers(s engine.Steps) bool {
	if len(s.Act) != 1 || len(s.Write)+len(s.Reboot)+len(s.Before)+len(s.After) > 0 {
		return false
	}
	r := s.Act[0].Do.RestartSurvivors
	return r != nil && !r.HasMember
}

// sparesMember reports whether nothing in the sequence of a host stops its etcd member.
func sparesMember(hp *engine.HostPlan) bool {
	checked := false
	for _, s := range hp.Sequence {
		if s.Do.Quorum != nil {
			if !s.Do.Quorum.RunsOn {
				return false
			}
			checked = true
		}
	}
	return checked
}

// stopReleased stops services before the write that removes their drop-ins: they must not run on during the reboot, and a
// run that continues could not know.
func (w *hostWork) stopReleased() []engine.Step {
	if len(w.stops) == 0 {
		return nil
	}
	return []engine.Step{{
		Name: "stop services", On: w.target.Host.Name, ChangesHost: true, Timeout: restartTimeout,
		Do: engine.Op{RestartSurvivors: &engine.RestartSurvivors{Units: w.stops, Stop: true}},
	}}
}

// restartSurvivors restarts the services that have run on during the reboot, once the host is back: an etcd member under
// quorum. The record of the host names them until then.
func (w *hostWork) restartSurvivors() []engine.Step {
	if len(w.restarts) == 0 {
		return nil
	}
	restart := restartStep(w.target, w.restarts, !bootsOther(w.steps.Reboot, w.target.Facts))
	var steps []engine.Step
	if restart.Do.RestartSurvivors.HasMember {
		steps = leaderSteps(w.target, false)
	}
	return slices.Concat(steps, []engine.Step{restart}, w.steps.Record, w.awaitHost())
}

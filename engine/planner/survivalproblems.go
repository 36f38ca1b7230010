package planner

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// warnOfProblems returns warnings for services that are to run on during a soft reboot, and do not, in pools that allow
// soft reboots.
func (in survivorPlanner) warnOfProblems() (warnings []string) {
	var groups textutil.Groups[string, string]
	for _, h := range in.Inventory.Hosts {
		if p, _ := in.Inventory.Pool(h.Pool); p.Reboot.Soft == engine.NeverSoft {
			continue
		}
		for _, problem := range in.Facts[h.Name].SurvivalProblems {
			groups.Add(describeSurvivalProblem(problem), h.Name)
		}
	}
	for text, hosts := range groups.All() {
		warnings = append(warnings, nameHosts(hosts)+": "+text)
	}
	return warnings
}

// describeSurvivalProblem returns an obstacle to the survival of a service, with its cause and the next step.
func describeSurvivalProblem(p engine.SurvivalProblem) string {
	stops := p.Unit + " does not run on during a soft reboot: "
	switch p.Obstacle {
	case engine.SurvivesTooOld:
		return stops + "this systemd has no SurviveFinalKillSignal, which systemd 255 has"
	case engine.SurvivalOverridden:
		return stops + "another drop-in of it overrides the one of holdfast; see systemctl cat " + p.Unit
	case engine.SurvivesOneshot:
		return stops + "a service of Type=oneshot has no process that could; remove it from keep"
	case engine.SurvivesOwnRoot:
		return p.Unit + " has a root file system of its own (RootImage= or RootDirectory=), so nothing shows which OS it runs from, and no OS can be staged; remove it from keep"
	case engine.SurvivalConflict:
		return fmt.Sprintf("%sit conflicts with %s, which a soft reboot starts; remove that from its Conflicts=", stops, p.Other)
	case engine.SurvivalNeeds:
		return fmt.Sprintf("%sa soft reboot stops %s, which it needs (Requires=, BindsTo=, PartOf= or a mount for one of its paths)", stops, p.Other)
	case engine.SurvivalNotStarted:
		return stops + "its process has started before its drop-in was there; restart it"
	case engine.SurvivalSocket:
		return fmt.Sprintf("%s runs on during a soft reboot, and %s does not: nobody can connect until the service has restarted; see systemd-soft-reboot.service(8)", p.Unit, p.Other)
	}
	return stops + "holdfast does not know why"
}

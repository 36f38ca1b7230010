package hoststate

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/textutil"
)

// wantedSurvivors returns the services to whose units of the host a configuration adds the drop-in with which they survive
// soft reboots. It leaves out services whose whole unit comes with the configuration: nothing on the host shows their
// properties before.
func wantedSurvivors(d engine.Desired) []string {
	var names []string
	if d.Config == nil {
		return nil
	}
	for _, u := range d.Config.Units {
		added := slices.ContainsFunc(u.Dropins, func(f resource.Dropin) bool { return f.Name == engine.KeepDropin })
		if added && u.Contents == "" && serviceRule.MatchString(u.Name) && len(names) < engine.MaxKept {
			names = append(names, u.Name)
		}
	}
	return names
}

// findSurvivalProblem returns the obstacle to the survival of a service, from the output of survivors.sh; nil if nothing shows
// one. Before a service has the drop-in, it looks only at properties that the drop-in does not change.
func findSurvivalProblem(p map[string]string) *engine.SurvivalProblem {
	foretold := p["Foretold"] == "yes"
	problem := func(o engine.SurvivalObstacle, other string) *engine.SurvivalProblem {
		return &engine.SurvivalProblem{Unit: p["Id"], Obstacle: o, Other: textutil.Printable(other)}
	}
	_, known := p["SurviveFinalKillSignal"]
	switch {
	case p["LoadState"] != "loaded":
		return nil
	case !known:
		return problem(engine.SurvivesTooOld, "")
	case p["Type"] == "oneshot":
		return problem(engine.SurvivesOneshot, "")
	case p["RootImage"] != "" || p["RootDirectory"] != "" && p["RootDirectory"] != "/":
		return problem(engine.SurvivesOwnRoot, "")
	case !foretold && !hasSurvivalProperties(p):
		return problem(engine.SurvivalOverridden, "")
	}
	if u := findConflict(p, foretold); u != "" {
		return problem(engine.SurvivalConflict, u)
	}
	if u := findNeed(p, foretold); u != "" {
		return problem(engine.SurvivalNeeds, u)
	}
	switch {
	case !foretold && p["Mounts"] != "" && p["Mounts"] == p["HostMounts"]:
		return problem(engine.SurvivalNotStarted, "")
	case p["StoppedSocket"] != "":
		return problem(engine.SurvivalSocket, p["StoppedSocket"])
	}
	return nil
}

func hasSurvivalProperties(p map[string]string) bool {
	return p["SurviveFinalKillSignal"] == "yes" && p["IgnoreOnIsolate"] == "yes" && p["PrivateMounts"] == "yes"
}

// findConflict returns a unit that a soft reboot starts, and that the service conflicts with. The drop-in removes the
// conflict with shutdown.target, which each service has by default.
func findConflict(p map[string]string, foretold bool) string {
	for _, u := range strings.Fields(p["Conflicts"]) {
		if u == "umount.target" || u == "soft-reboot.target" || u == "shutdown.target" && !foretold {
			return u
		}
	}
	return ""
}

// findNeed returns a unit that a soft reboot stops, and that the service needs. The drop-in removes the need of sysinit.target,
// which each service has by default, and may remove the one of the mounts for temporary files, which comes from PrivateTmp.
func findNeed(p map[string]string, foretold bool) string {
	for _, u := range strings.Fields(p["Requires"] + " " + p["BindsTo"] + " " + p["PartOf"]) {
		switch {
		case strings.HasSuffix(u, ".slice"), keptMounts[u]:
		case foretold && (u == "sysinit.target" || u == "tmp.mount" || u == "var-tmp.mount"):
		default:
			return u
		}
	}
	return ""
}

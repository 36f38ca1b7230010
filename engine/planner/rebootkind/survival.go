package rebootkind

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/rules"
)

// SurvivalInput has everything on which the fate of services that run on during a reboot depends.
type SurvivalInput struct {
	Kind    engine.RebootKind // of the reboot
	Facts   engine.Facts
	Changes []engine.Change
	Member  string // service of the etcd member of the host; "": none

	// CannotSpare means that the etcd cluster would lose its quorum if the member restarted, and that nobody allows it.
	CannotSpare bool
}

// DecideSurvival returns the fate of the services that run on during a reboot, and their names. After a reboot into
// another deployment they restart. After one into the same deployment they restart unless no change can be about them:
// nobody knows which files a service has read. A member that its cluster cannot spare keeps its old deployment, but only
// if a later run can see that from the facts.
func DecideSurvival(in SurvivalInput) (engine.Survival, []string) {
	var units []string
	outdated := false
	for _, s := range in.Facts.Survivors {
		if s.Survives {
			units = append(units, s.Unit)
		}
		outdated = outdated || s.Outdated
	}
	switch {
	case in.Kind != engine.SoftReboot || len(units) == 0:
		return engine.StopsAtReboot, nil
	case !outdated && !slices.ContainsFunc(in.Changes, func(c engine.Change) bool { return mayConcern(c, units) }):
		return engine.StaysAsItIs, units
	case in.CannotSpare && bringsOS(in.Changes) && slices.Equal(units, []string{in.Member}):
		return engine.KeepsOldOS, units
	}
	return engine.RestartsAfter, units
}

func bringsOS(changes []engine.Change) bool {
	return slices.ContainsFunc(changes, func(c engine.Change) bool { return c.RebootClass == rules.OSImageClass && !c.Task })
}

// mayConcern reports whether a change may need a restart of one of the services. The rule of a change that needs no
// reboot names the units that it needs.
func mayConcern(c engine.Change, units []string) bool {
	for _, a := range c.Actions {
		switch a.Type {
		case engine.RebootAction:
			switch c.Kind {
			case engine.UserKind, engine.GroupKind:
			case engine.UnitKind:
				if slices.Contains(units, c.Name()) {
					return true
				}
			default:
				return true
			}
		case engine.RestartUnit, engine.ReloadUnit:
			if slices.Contains(units, a.Unit) {
				return true
			}
		default:
		}
	}
	return false
}

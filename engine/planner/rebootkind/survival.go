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
	Member  string // service of the etcd member of the host; "": the host has none

	// CannotSpare means that the etcd cluster would lose its quorum if the member restarted, and that nobody allows it.
	CannotSpare bool
}

// Survivals are the fates of the services of a host in a reboot.
type Survivals struct {
	Member   engine.Survival // fate of the etcd member
	Runs     []string        // services that run on
	Restarts []string        // those of them that are restarted once the host is back
}

// DecideSurvival returns the fates of services. After a reboot into another deployment all services that run on restart.
// After one into the same deployment a service restarts unless no change can be about it: nobody knows which files it has
// read. A member that its cluster cannot spare keeps its old deployment, but only if a later run can see that from the facts.
func DecideSurvival(in SurvivalInput) (s Survivals) {
	if in.Kind != engine.SoftReboot {
		return s
	}
	for _, x := range in.Facts.Survivors {
		if !x.Survives {
			continue
		}
		s.Runs = append(s.Runs, x.Unit)
		fate := engine.RestartsAfter
		switch {
		case !x.Outdated && !slices.ContainsFunc(in.Changes, func(c engine.Change) bool { return mayConcern(c, x.Unit) }):
			fate = engine.StaysAsItIs
		case in.CannotSpare && BringsOS(in.Changes) && x.Unit == in.Member:
			fate = engine.KeepsOldOS
		default:
			s.Restarts = append(s.Restarts, x.Unit)
		}
		if x.Unit == in.Member {
			s.Member = fate
		}
	}
	return s
}

// BringsOS reports whether one of the changes is a new OS.
func BringsOS(changes []engine.Change) bool {
	return slices.ContainsFunc(changes, func(c engine.Change) bool { return c.RebootClass == rules.OSImageClass && !c.Task })
}

// mayConcern reports whether a change may need a restart of a service. The rule of a change that needs no
// reboot names the units that it needs.
func mayConcern(c engine.Change, unit string) bool {
	for _, a := range c.Actions {
		switch a.Type {
		case engine.RebootAction:
			switch c.Kind {
			case engine.UserKind, engine.GroupKind:
			case engine.UnitKind:
				if c.Name() == unit {
					return true
				}
			default:
				return true
			}
		case engine.RestartUnit, engine.ReloadUnit:
			if a.Unit == unit {
				return true
			}
		default:
		}
	}
	return false
}

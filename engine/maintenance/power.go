package maintenance

import (
	"holdfast/engine"
	"holdfast/engine/standing"
)

// planPower switches the power of hosts that the person holds. Nobody else may work on a host that loses its power, and a host that
// somebody else holds must not come to life.
func (r Request) planPower(o Observed) engine.HostMaintenance {
	st := standing.View{}.JudgeFacts(o.Facts)
	s := engine.SwitchPower{To: engine.PowerOn}
	m := engine.HostMaintenance{Message: "is on"}
	limit := engine.SwitchTimeout
	switch r.Action {
	case engine.PowerHostsOff:
		s, m.Message = engine.SwitchPower{To: engine.PowerOff, Graceful: r.Graceful}, "is off"
		limit += r.Graceful
	case engine.ResetHosts:
		s, m.Message = engine.SwitchPower{To: engine.PowerReset}, "is reset"
	default: // the power is switched on
	}
	// A held host refuses the shutdown that its controller asks for, so it is told to shut down under its hold.
	if s.To == engine.PowerOff && st.Kind == standing.HeldByPerson {
		s.Ordered = true
		m.Steps = append(m.Steps, shutDownStep(*st.Hold))
	}
	m.Steps = append(m.Steps, engine.Step{Name: "power " + string(s.To), Do: engine.Op{SwitchPower: &s}, Timeout: limit})
	if st.Kind != standing.Free {
		m.Found = st.Describe()
	}
	if r.Force {
		return m
	}
	switch st.Kind {
	case standing.HeldByPerson:
		if r.owns(*st.Hold) {
			return m
		}
		return leaveAlone(engine.HeldFailure, st.Describe()+"; that is another person or bastion: ask there, or use --force")
	case standing.HeldWhenLastSeen:
		if s.To == engine.PowerOn && r.owns(*st.Hold) {
			return m
		}
		return leaveAlone(engine.HeldFailure, st.Describe()+"; its hold may be another one by now: ask its holder, or use --force")
	case standing.Unreached:
		return leaveAlone(engine.UnreachableFailure, st.Problem+"; so its hold is not known: find out who works on it, and use --force")
	case standing.Free, standing.Unproven:
		if s.To == engine.PowerOn {
			return m
		}
		return leaveAlone(engine.HeldFailure, "not held, so a run may work on it: hold it first, with holdfast hold, or use --force")
	case standing.UnreadablyHeld, standing.HeldByRun, standing.HeldByDeadRun, standing.HeldByExpiredRun, standing.HeldByThisRun:
	}
	return leaveAlone(engine.HeldFailure, st.Describe()+"; --force switches its power all the same")
}

func shutDownStep(h engine.Hold) engine.Step {
	return engine.Step{Name: "shut down", Do: engine.Op{ShutDown: &engine.ShutDown{Run: h.Run, Bastion: h.Bastion}}}
}

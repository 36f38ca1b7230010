package maintenance

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/standing"
)

// planPower switches the power of hosts that the person holds. Nobody else may work on a host that loses its power, and a host that
// somebody else holds must not come to life.
func (r Request) planPower(host string, o Observed) engine.HostMaintenance {
	st := standing.View{}.JudgeFacts(o.Facts)
	s := engine.SwitchPower{To: engine.PowerOn}
	m := engine.HostMaintenance{Message: "is on"}
	limit := engine.SwitchTimeout
	switch r.Action {
	case engine.PowerHostsOff:
		s, m.Message = engine.SwitchPower{To: engine.PowerOff, Graceful: r.Graceful}, "is off"
		m.Remains = "its shutdown may have been ordered: holdfast power status " + host
		limit += r.Graceful
	case engine.ResetHosts:
		s, m.Message = engine.SwitchPower{To: engine.PowerReset}, "is reset"
	default: // the power is switched on
	}
	if s.To != engine.PowerOn && st.Kind == standing.HeldByPerson {
		s.CheckHold = !r.Force
		limit += engine.CutCheckTimeout
		m.Under = st.Hold.Owner()
		// A held host refuses the shutdown that its controller asks for, so it is told to shut down under its hold.
		if s.To == engine.PowerOff {
			s.Ordered = true
			m.Steps = append(m.Steps, r.shutDown(engine.ShutDown(m.Under)))
		}
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

// shutDown shuts a held host down. By force, the power of a host that cannot shut down is cut.
func (r Request) shutDown(down engine.ShutDown) engine.Step {
	return engine.Step{Name: "shut down", Do: engine.Op{ShutDown: &down}, MayFail: r.Force}
}

// answerTimeout is the time until a host answers that was switched on.
const answerTimeout = engine.Duration(30 * time.Minute)

// offSteps keep a held host off, shut it down, and switch its power off.
func (r Request) offSteps(down engine.ShutDown) []engine.Step {
	return []engine.Step{
		{Name: "stay off", Do: engine.Op{StayOff: &engine.StayOff{}}, MayFail: r.Force},
		r.shutDown(down),
		r.cutPower(true),
	}
}

// cutPower waits for the end of a shutdown before it cuts the power.
func (r Request) cutPower(checkHold bool) engine.Step {
	off := engine.SwitchPower{To: engine.PowerOff, Graceful: r.Graceful, Ordered: true, CheckHold: checkHold}
	return engine.Step{Name: "power off", Do: engine.Op{SwitchPower: &off}, Timeout: engine.SwitchTimeout + engine.CutCheckTimeout + r.Graceful}
}

// endShutdown is the last step of a host that shuts down, or is off, and whose hold is only remembered. The host may be up under
// another hold by now, so its power is cut only by force.
func (r Request) endShutdown() engine.Step {
	if r.Force {
		return r.cutPower(false)
	}
	off := engine.SwitchPower{To: engine.PowerOff, Graceful: r.Graceful, Ordered: true, WaitOnly: true}
	return engine.Step{Name: "wait for power off", Do: engine.Op{SwitchPower: &off}, Timeout: engine.SwitchTimeout + r.Graceful}
}

// endPowered ends a hold. If the hold has changed settings of the controller of the host, or drained the host, this is undone before, because
// only the hold knows it.
func (r Request) endPowered(t engine.Target, end engine.EndHold, h *engine.Hold) engine.HostMaintenance {
	m := engine.HostMaintenance{Message: "released"}
	if r.PowerOn {
		on := engine.SwitchPower{To: engine.PowerOn}
		m.Steps = append(m.Steps, engine.Step{Name: "power on", Do: engine.Op{SwitchPower: &on}, Timeout: engine.SwitchTimeout},
			engine.Step{Name: "wait for its answer", Do: engine.Op{AwaitAnswer: &engine.AwaitAnswer{}}, Timeout: answerTimeout})
	}
	if h != nil && h.PowerBefore != nil { // another person may have taken a host that was off
		m.Under = h.Owner()
		m.Steps = append(m.Steps, engine.Step{Name: "power as before", Do: engine.Op{PowerAsBefore: h.PowerBefore}, MayFail: r.Force, ChangesHost: true})
	}
	if h != nil && h.Drain != nil && h.Kind == engine.MaintenanceHold {
		if failure := r.undrainBeforeEnd(t, *h, &m); failure != nil {
			return engine.HostMaintenance{Failure: failure}
		}
	}
	m.Steps = append(m.Steps, engine.Step{Name: "end hold", Do: engine.Op{EndHold: &end}})
	return m
}

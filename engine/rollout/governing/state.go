package governing

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// rateLever returns the lever of the rate. It is in force if the bastion serves the
// contents of the OS and can change their rate.
func (g *Stage) rateLever() engine.Lever {
	switch {
	case g.Step.Do.Exec == nil || g.Step.Do.Exec.Content == nil:
		return engine.Lever{Name: engine.RateLever, Reason: "the bastion does not serve the OS"}
	case g.SetRate == nil:
		return engine.Lever{Name: engine.RateLever, Reason: "the rates of this run cannot be changed"}
	}
	return engine.Lever{Name: engine.RateLever, InForce: true}
}

func (g *Stage) isInForce(name engine.LeverName) bool {
	return slices.ContainsFunc(g.levers, func(l engine.Lever) bool { return l.Name == name && l.InForce })
}

// noteLevers notes the levers after a report of the host, and d, the decision that
// was sent to it. Later reports can differ from the first one, because a lever can
// fail at any time.
func (g *Stage) noteLevers(d governor.Decision, levers []engine.Lever) {
	if slices.Equal(levers, g.levers) {
		return
	}
	g.levers = levers
	g.emitGovernor(engine.Governor{State: g.state, Pace: paceOf(d.Knobs), Levers: levers})
	g.noteState(d)
}

// stateOf returns the state of the staging after a decision. It depends on the
// levers in force: without any, the staging is free; without freezing, the rates
// of contents and of the disk can only slow it, never pause it.
func (g *Stage) stateOf(d governor.Decision) engine.GovernorState {
	switch frozen := g.isInForce(engine.FreezeLever); {
	case !frozen && !g.isInForce(engine.RateLever) && !g.isInForce(engine.IOLever):
		return engine.GovernorFree
	case d.State == engine.GovernorPaused && !frozen:
		return engine.GovernorSlowed
	}
	return d.State
}

func (g *Stage) noteState(d governor.Decision) {
	state := g.stateOf(d)
	if state == g.state {
		return
	}
	g.addStateTime()
	g.state = state
	e := governorOf(d.Cause)
	e.State, e.Pace = state, paceOf(d.Knobs)
	g.emitGovernor(e)
}

func (g *Stage) addStateTime() {
	now := g.Now()
	g.timeIn[g.state] += now.Sub(g.since)
	g.since = now
}

func (g *Stage) totalOf(state engine.GovernorState) engine.Duration {
	return engine.Duration(g.timeIn[state].Round(time.Millisecond))
}

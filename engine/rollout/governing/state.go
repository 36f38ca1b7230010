package governing

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// rateLever tells whether the rate of contents slows this staging.
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

// noteLevers notes the levers that the host has reported with that decision. A
// lever can fail later than the first report.
func (g *Stage) noteLevers(d governor.Decision, levers []engine.Lever) {
	if slices.Equal(levers, g.levers) {
		return
	}
	g.levers = levers
	g.emitGovernor(engine.Governor{State: g.state, Pace: paceOf(d.Knobs), Levers: levers})
	g.noteState(d)
}

// stateOf returns the state of the staging with the levers that are in force.
// Only freezing pauses a staging. The rate alone slows it.
func (g *Stage) stateOf(d governor.Decision) engine.GovernorState {
	switch frozen := g.isInForce(engine.FreezeLever); {
	case !frozen && !g.isInForce(engine.RateLever):
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
	e := governorOf(d.Worst)
	e.State, e.Pace = state, paceOf(d.Knobs)
	g.emitGovernor(e)
}

func (g *Stage) addStateTime() {
	now := g.Clock.Now()
	g.timeIn[g.state] += now.Sub(g.since)
	g.since = now
}

func (g *Stage) totalOf(state engine.GovernorState) engine.Duration {
	return engine.Duration(g.timeIn[state].Round(time.Millisecond))
}

package main

import (
	"cmp"
	"time"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/forecast"
)

// stagedAtOnce is how many hosts a run stages at the same time without --forks.
const stagedAtOnce = 8

// learnTimes lets the run forecast how long its plan takes. The plays of a
// playbook have no forecast, because any run may have had other tasks.
func (s *site) learnTimes(times engine.EarlierTimes) {
	s.run.Forecast = func(plan engine.Plan, now time.Time) *engine.Forecast {
		if plan.Play != "" {
			return nil
		}
		return forecast.Make(forecast.Input{Plan: plan, Pools: s.inv.Pools, Earlier: times, Now: now, Forks: cmp.Or(s.run.Forks, stagedAtOnce)})
	}
}

// withForecast returns a plan that is shown with its forecast.
func (s *site) withForecast(plan engine.Plan) engine.Plan {
	if s.run.Forecast != nil {
		plan.Forecast = s.run.Forecast(plan, clock.Real{}.Now())
	}
	return plan
}

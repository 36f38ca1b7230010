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

// learnTimes lets the run forecast how long each of its plans takes.
func (s *site) learnTimes(times engine.EarlierTimes) {
	s.times = times
	s.run.Forecast = func(plan engine.Plan, now time.Time) *engine.Forecast {
		in := s.forecastInput(now)
		in.Plan = plan
		return forecast.Make(in)
	}
}

func (s *site) forecastInput(now time.Time) forecast.Input {
	return forecast.Input{Pools: s.inv.Pools, Earlier: s.times, Now: now, Forks: cmp.Or(s.run.Forks, stagedAtOnce)}
}

// withForecasts returns plans that are shown with their forecasts, and the forecast of all of them; nil: none.
func (s *site) withForecasts(plans []engine.Plan) ([]engine.Plan, *engine.Forecast) {
	return forecast.Plays(s.forecastInput(clock.Real{}.Now()), plans)
}

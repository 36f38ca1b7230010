package main

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// inheritIfIdle lets read-only commands treat holds as the next apply would:
// unless a run of this bastion is running, all earlier runs are over. It
// returns the history of the earlier runs.
func (s *site) inheritIfIdle() (journal.History, error) {
	unlock, err := s.lockSite()
	if err != nil { // a run is running, or there are no runs: respect all holds
		return journal.ReadHistory(s.runsDir, s.inv.Site)
	}
	defer unlock()
	history, err := s.inheritRuns()
	s.run.Awaited = nil // read-only commands do not wait
	return history, err
}

func (a *app) showPlans(s *site, plans []engine.Plan) error {
	if len(s.run.Plays) == 0 {
		return a.showPlan(s, plans[0])
	}
	if a.json {
		return a.printJSON(report.HideSensitive(plans, s.loaded.Sensitive))
	}
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(a.stdout)
		}
		if err := a.showPlan(s, p); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) showPlan(s *site, plan engine.Plan) error {
	clean, err := report.RedactPlan(plan, s.loaded.Sensitive)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(clean)
	}
	for _, w := range s.loaded.Warnings {
		fmt.Fprintln(a.stderr, "holdfast: warning:", w)
	}
	return planview.Write(a.stdout, clean, termtext.Style{Colour: isColourTerminal(a.stdout)}, a.verbose)
}

func (a *app) printJSON(v any) error { return report.WriteJSON(a.stdout, v) }

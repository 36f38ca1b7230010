package main

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/report"
)

// survey lets commands that only look judge holds as the next apply would: if
// no run of this bastion is under way, the earlier ones are over.
func (s *site) survey() error {
	unlock, err := s.lock()
	if err != nil {
		return nil // a run is under way, or there is nothing to inherit: its holds are respected
	}
	defer unlock()
	if err := s.inherit(); err != nil {
		return err
	}
	s.run.Awaited = nil // who only looks does not wait
	return nil
}

// showPlan prints a plan for people, or as JSON.
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
	return report.WritePlan(a.stdout, clean, report.Style{Colour: terminal(a.stdout)}, a.verbose)
}

func (a *app) printJSON(v any) error { return report.WriteJSON(a.stdout, v) }

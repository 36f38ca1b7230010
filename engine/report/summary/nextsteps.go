package summary

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// NextSteps returns the lines after the summary of a run that failed or left
// work: each kind of failure, the exclusions, and one next step.
func (s *Summary) NextSteps(end event.RunEnd) []string {
	touched := s.Format() != ""
	done := end.Exit == engine.ExitOK && (end.Complete || len(end.Pools) == 0)
	if done || end.Exit == engine.ExitStopped && !touched {
		return nil
	}
	told := end.Cause
	if _, cut := s.ShortReason(end); cut { // a cut reason begins with the failure, and names only some of the other hosts
		told = event.EndCause{Kind: end.Cause.Kind, Failure: end.Cause.Failure}
	}
	lines := s.failureLines(told)
	for _, e := range s.others {
		lines = append(lines, shortFailureLines(StepName(e)+" failed", *e.Failure, report.NamesFailure(told, e.Host, e.Failure.Step), false)...)
	}
	for _, l := range planview.UnfinishedLines(s.plan.Unfinished, false) {
		lines = append(lines, "unfinished: "+l)
	}
	lines = append(lines, planview.RecordLines(s.plan)...)
	lines = append(lines, s.exclusionLines(told)...)
	if end.Exit == engine.ExitWork && len(s.plan.Drift) > 0 {
		return append(lines, s.driftLines()...)
	}
	return append(lines, s.adviceLines(end, touched)...)
}

// failedKinds is the number of kinds of failure that are shown.
const failedKinds = 5

func (s *Summary) failureLines(told event.EndCause) []string {
	type key struct{ step, cause string }
	hosts := map[key][]*hostSummary{}
	var order []key
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		h := s.hosts[name]
		if h.failure == nil || h.failure.Kind == engine.StoppedFailure {
			continue
		}
		k := key{h.failure.Step, h.failure.Cause}
		if hosts[k] == nil {
			order = append(order, k)
		}
		hosts[k] = append(hosts[k], h)
	}
	var lines []string
	for i, k := range order {
		if i == failedKinds {
			lines = append(lines, fmt.Sprintf("and %s more; they are above, and in the journal", termtext.FormatCount(len(order)-i, "kind of failure", "kinds of failure")))
			break
		}
		lines = append(lines, failureGroupLines(hosts[k], told)...)
	}
	return lines
}

func failureGroupLines(hosts []*hostSummary, told event.EndCause) []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	f := *hosts[0].failure
	known := slices.ContainsFunc(names, func(name string) bool { return report.NamesFailure(told, name, f.Step) })
	return shortFailureLines(strings.Join(textutil.FoldNames(names), ", ")+" failed at "+f.Step, f, known, len(hosts) > 1)
}

// shortFailureLines returns a failure as one line and its hint. It leaves out a
// cause that the reason of the run contains, and returns nothing if no other
// text is left.
func shortFailureLines(what string, f engine.Failure, known, more bool) []string {
	var lines []string
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	cause, added := shortCause(f)
	switch {
	case !known || added:
		what += ": " + cause
	case !more && len(lines) == 0:
		return nil
	}
	return append([]string{what}, lines...)
}

// openExclusions leaves out hosts that were updated later, and those whose failure is shown elsewhere.
func (s *Summary) openExclusions() []engine.Exclusion {
	var list []engine.Exclusion
	for _, x := range s.excluded {
		h := s.hosts[x.Host]
		if h != nil && (h.updated && h.play >= x.play || h.failure != nil && x.Kind == engine.Failed) {
			continue
		}
		list = append(list, x.Exclusion)
	}
	return list
}

func (s *Summary) exclusionLines(told event.EndCause) []string {
	var lines []string
	untold := slices.DeleteFunc(s.openExclusions(), func(x engine.Exclusion) bool { return report.NamesExclusion(told, x) })
	for _, g := range planview.GroupExclusions(untold, false) {
		lines = append(lines, string(g.Kind)+": "+g.Text)
	}
	return lines
}

func (s *Summary) driftLines() []string {
	var lines, order []string
	hosts := map[string][]string{}
	for _, d := range s.plan.Drift {
		what := planview.CountKinds(d.Changes)
		if hosts[what] == nil {
			order = append(order, what)
		}
		hosts[what] = append(hosts[what], d.Host)
	}
	for _, what := range order {
		lines = append(lines, "drifted: "+termtext.FoldHosts(hosts[what])+": "+what)
	}
	return append(lines, `apply leaves that alone, by drift = "report" of their pools`,
		"to keep these changes: put them into the documents; to undo them: take drift = \"report\" out of the pool")
}

// maxReason is the longest reason that is shown in full, in bytes. Longer
// reasons name many hosts one by one.
const maxReason = 400

// StepName returns the name of the step of an event, with its cluster if it has one.
func StepName(e event.Event) string {
	if e.Cluster != "" {
		return e.Step + " of " + e.Cluster
	}
	return e.Step
}

package summary

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// NextSteps returns the lines about everything that the run left undone, each
// kind of finding once, with the advice about it. It also returns the next
// command to type, or "".
func (s *Summary) NextSteps(end event.RunEnd) (lines []string, command string) {
	done := end.Exit == engine.ExitOK && (end.Complete || len(end.Pools) == 0)
	if done || end.Exit == engine.ExitStopped && !s.touched {
		return nil, ""
	}
	lines = append(s.failureLines(), s.otherFailureLines(end)...)
	if b := end.SpentBudget; b != nil {
		lines = append(lines, spentBudgetLine(*b))
	}
	lines = append(lines, refusalLines(end.Verdict.Refusals)...)
	for _, u := range end.Verdict.UnhealthyClusters {
		lines = append(lines, u.String())
	}
	if list := end.Verdict.Unfinished; len(list) > 0 {
		for _, l := range planview.UnfinishedLines(list, s.Full) {
			lines = append(lines, "unfinished: "+l)
		}
		lines = append(lines, planview.RecordLines(s.plan)...)
	}
	for _, g := range planview.GroupExclusions(s.unshownExclusions(end), s.Full) {
		lines = append(lines, string(g.Kind)+": "+g.Text)
	}
	if end.Exit == engine.ExitWork && len(s.plan.Drift) > 0 {
		lines = append(lines, s.driftLines()...)
	}
	advice, command := s.listAdvice(end)
	return append(lines, advice...), command
}

// failedKinds is the number of kinds of failure that are shown.
const failedKinds = 5

func (s *Summary) failureLines() []string {
	type key struct {
		step, cause string
		earlier     bool
	}
	var groups textutil.Groups[key, *hostSummary]
	for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
		if h := s.hosts[name]; h.failure != nil && h.failure.Kind != engine.StoppedFailure {
			groups.Add(key{h.failure.Step, h.failure.Cause, h.fate == event.RolledBackEarlierOutcome}, h)
		}
	}
	var lines []string
	for i, k := range groups.Keys() {
		if i == failedKinds {
			return append(lines, fmt.Sprintf("and %s more; they are above, and in the journal", termtext.FormatCount(len(groups.Keys())-i, "kind of failure", "kinds of failure")))
		}
		var names []string
		for _, h := range groups.Of(k) {
			names = append(names, h.name)
		}
		title := strings.Join(textutil.FoldNames(names), ", ")
		if !k.earlier {
			title += " failed at " + k.step
		}
		lines = append(lines, shortFailureLines(title, *groups.Of(k)[0].failure)...)
	}
	return lines
}

// otherFailureLines returns the failures of steps without a host, and the failures without an event.
func (s *Summary) otherFailureLines(end event.RunEnd) []string {
	var lines []string
	shown := map[string]bool{}
	for _, e := range s.others {
		shown[e.Failure.Step] = true
		lines = append(lines, shortFailureLines(StepName(e)+" failed", *e.Failure)...)
	}
	for _, f := range end.Verdict.Failures {
		if f.Kind == engine.StoppedFailure || f.Host == "" && shown[f.Step] || f.Host != "" && s.hosts[f.Host] != nil && s.hosts[f.Host].failure != nil {
			continue
		}
		for i, l := range strings.Split(strings.TrimSpace(f.Error()), "\n") {
			if l = strings.TrimSpace(l); i > 0 {
				l = "  " + l
			}
			lines = append(lines, l)
		}
		if f.Hint != "" {
			lines = append(lines, "    hint: "+f.Hint)
		}
	}
	return lines
}

func shortFailureLines(title string, f engine.Failure) []string {
	lines := []string{title + ": " + shortCause(f)}
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	return lines
}

var exitStatus = regexp.MustCompile(`exit status \d+$`)

// shortCause returns the cause of a failure in one short line. It adds the last line of standard error to a
// bare exit status, because programs report their error there.
func shortCause(f engine.Failure) string {
	if lines := StderrLines(f); len(lines) > 0 && exitStatus.MatchString(f.Cause) {
		return termtext.ShortenText(f.Cause + ": " + lines[len(lines)-1])
	}
	return termtext.ShortenText(f.Cause)
}

// StderrLines returns the standard error of a failure without the lines that its cause repeats.
func StderrLines(f engine.Failure) []string {
	var lines []string
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) && !strings.HasSuffix(f.Cause, ": "+l) {
			lines = append(lines, l)
		}
	}
	return lines
}

func spentBudgetLine(b event.SpentBudget) string {
	if b.AnyErrorsFatal {
		return fmt.Sprintf("%d hosts have failed, and play %s allows none (any_errors_fatal)", b.Failed, b.Play)
	}
	owner := "pool " + b.Pool
	if b.Play != "" {
		owner = "play " + b.Play
	}
	return fmt.Sprintf("%d hosts have failed, more than the failure budget of %s allows; --best-effort continues with the others", b.Failed, owner)
}

// mostRefusals is the number of refusals that are shown.
const mostRefusals = 5

func refusalLines(list []string) []string {
	var lines []string
	for i, refusal := range list {
		if i == mostRefusals {
			return append(lines, fmt.Sprintf("not safe: %d more; holdfast plan shows them", len(list)-i))
		}
		lines = append(lines, "not safe: "+refusal)
	}
	return lines
}

// unshownExclusions leaves out hosts whose failure is shown.
func (s *Summary) unshownExclusions(end event.RunEnd) []engine.Exclusion {
	return slices.DeleteFunc(slices.Clone(end.Verdict.Excluded), func(x engine.Exclusion) bool {
		h := s.hosts[x.Host]
		return x.Kind == engine.Failed && h != nil && h.failure != nil
	})
}

func (s *Summary) driftLines() []string {
	var lines []string
	var groups textutil.Groups[string, string]
	for _, d := range s.plan.Drift {
		groups.Add(planview.CountKinds(d.Changes), d.Host)
	}
	for changes, hosts := range groups.All() {
		lines = append(lines, "drifted: "+termtext.FoldHosts(hosts)+": "+changes)
	}
	return append(lines, `apply does not undo drift of pools with drift = "report"`,
		"to keep these changes, put them into the documents",
		`to undo them, take drift = "report" out of the pool`)
}

// StepName returns the name of the step of an event, with its cluster if it has one.
func StepName(e event.Event) string {
	if e.Cluster != "" {
		return e.Step + " of " + e.Cluster
	}
	return e.Step
}

package report

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// nextSteps is what a person has to know and do when a run did not succeed, or has
// left hosts that do not match: each kind of failure in short, who was left out,
// and the one thing to do then.
func (s *summary) nextSteps(end engine.RunEnd) []string {
	touched := s.formatSummary() != ""
	done := end.Exit == engine.ExitOK && (end.Complete || len(end.Pools) == 0)
	if done || end.Exit == engine.ExitStopped && !touched {
		return nil
	}
	told, cut := s.shortReason(end)
	lines := s.failureLines(told)
	for _, e := range s.others {
		lines = append(lines, shortFailureLines(stepName(e)+" failed", *e.Failure, told, false)...)
	}
	for _, l := range unfinishedLines(s.plan.Unfinished, false) {
		lines = append(lines, "unfinished: "+l)
	}
	if cut { // it has some of many hosts, and they are told together
		told = ""
	}
	lines = append(lines, s.exclusionLines(told)...)
	if end.Exit == engine.ExitWork && len(s.plan.Drift) > 0 {
		return append(lines, s.driftLines()...)
	}
	return append(lines, s.adviceLines(end, touched)...)
}

// failedKinds is how many kinds of failure are shown.
const failedKinds = 5

// failureLines shows each kind of failure once, with the hosts that met it, unless
// it is told already.
func (s *summary) failureLines(told string) []string {
	type key struct{ step, cause string }
	hosts := map[key][]*hostSummary{}
	var order []key
	for _, name := range sortedKeys(s.hosts) {
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
			lines = append(lines, fmt.Sprintf("and %s more; they are above, and in the journal", formatCount(len(order)-i, "kind of failure", "kinds of failure")))
			break
		}
		lines = append(lines, failureGroupLines(hosts[k], told)...)
	}
	return lines
}

// failureGroupLines is one kind of failure, as the first of its hosts met it.
func failureGroupLines(hosts []*hostSummary, told string) []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	f := *hosts[0].failure
	return shortFailureLines(strings.Join(textutil.FoldNames(names), ", ")+" failed at "+f.Step, f, told, len(hosts) > 1)
}

// shortFailureLines is a failure in a line, with the hint that came with it. The cause is
// not told twice; what is then left is not told at all, unless there is more to
// it.
func shortFailureLines(what string, f engine.Failure, told string, more bool) []string {
	var lines []string
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	switch known := strings.Contains(told, f.Step+": "+shortCause(f)); {
	case !known:
		what += ": " + shortCause(f)
	case !more && len(lines) == 0:
		return nil
	}
	return append([]string{what}, lines...)
}

// failureDetails are what is known of a failure beyond its cause, indented.
func failureDetails(host, became string, f engine.Failure) []string {
	var lines []string
	if became != "" {
		lines = append(lines, "    "+host+": "+became)
	}
	if f.Command != "" {
		lines = append(lines, "    command: "+commandName(f.Command))
	}
	for _, l := range stderrLines(f) {
		lines = append(lines, "    stderr: "+l)
	}
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	return lines
}

// openExclusions are the hosts that plans left out and that are not updated either.
// Those of which it is told how they failed are not among them.
func (s *summary) openExclusions() []engine.Exclusion {
	var list []engine.Exclusion
	for _, x := range s.excluded {
		h := s.hosts[x.Host]
		if h != nil && (h.updated && h.play >= x.play || h.failure != nil && x.Why == engine.Failed) {
			continue
		}
		list = append(list, x.Exclusion)
	}
	return list
}

// exclusionLines names the hosts that were left out, unless that is told already.
func (s *summary) exclusionLines(told string) []string {
	var lines []string
	untold := slices.DeleteFunc(s.openExclusions(), func(x engine.Exclusion) bool { return strings.Contains(told, x.Reason) })
	for _, g := range groupExclusions(untold, false) {
		lines = append(lines, string(g.why)+": "+g.text)
	}
	return lines
}

// driftLines names the hosts that apply leaves as they are, and the ways out.
func (s *summary) driftLines() []string {
	var lines, order []string
	hosts := map[string][]string{}
	for _, d := range s.plan.Drift {
		what := countKinds(d.Changes)
		if hosts[what] == nil {
			order = append(order, what)
		}
		hosts[what] = append(hosts[what], d.Host)
	}
	for _, what := range order {
		lines = append(lines, "drifted: "+foldHosts(hosts[what])+": "+what)
	}
	return append(lines, `apply leaves that alone, by drift = "report" of their pools`,
		"to keep what was changed: put it into the documents; to undo it: take drift = \"report\" out of the pool")
}

// maxReason is how long a reason may be, in bytes, to be shown whole. A longer one names
// many hosts, one by one.
const maxReason = 400

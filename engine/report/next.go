package report

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// next is what a person has to know and do when a run did not succeed, or has
// left hosts that do not match: each kind of failure in short, who was left out,
// and the one thing to do then.
func (s *summary) next(end engine.RunEnd) []string {
	touched := s.text() != ""
	done := end.Exit == engine.ExitOK && (end.Complete || len(end.Pools) == 0)
	if done || end.Exit == engine.ExitStopped && !touched {
		return nil
	}
	told, cut := s.reason(end)
	lines := s.failures(told)
	for _, e := range s.others {
		lines = append(lines, inShort(stepOf(e)+" failed", *e.Failure, told, false)...)
	}
	for _, l := range unreached(s.plan.Unfinished, false) {
		lines = append(lines, "unfinished: "+l)
	}
	if cut { // it has some of many hosts, and they are told together
		told = ""
	}
	lines = append(lines, s.leftOut(told)...)
	if end.Exit == engine.ExitWork && len(s.plan.Drift) > 0 {
		return append(lines, s.drifted()...)
	}
	return append(lines, s.advice(end, touched)...)
}

// failedKinds is how many kinds of failure are shown.
const failedKinds = 5

// failures shows each kind of failure once, with the hosts that met it, unless
// it is told already.
func (s *summary) failures(told string) []string {
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
			lines = append(lines, fmt.Sprintf("and %s more; they are above, and in the journal", count(len(order)-i, "kind of failure", "kinds of failure")))
			break
		}
		lines = append(lines, failed(hosts[k], told)...)
	}
	return lines
}

// failed is one kind of failure, as the first of its hosts met it.
func failed(hosts []*hostSummary, told string) []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	f := *hosts[0].failure
	return inShort(strings.Join(textutil.FoldNames(names), ", ")+" failed at "+f.Step, f, told, len(hosts) > 1)
}

// inShort is a failure in a line, with the hint that came with it. The cause is
// not told twice; what is then left is not told at all, unless there is more to
// it.
func inShort(what string, f engine.Failure, told string, more bool) []string {
	var lines []string
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	switch known := strings.Contains(told, f.Step+": "+gist(f)); {
	case !known:
		what += ": " + gist(f)
	case !more && len(lines) == 0:
		return nil
	}
	return append([]string{what}, lines...)
}

// details are what is known of a failure beyond its cause, indented.
func details(host, became string, f engine.Failure) []string {
	var lines []string
	if became != "" {
		lines = append(lines, "    "+host+": "+became)
	}
	if f.Command != "" {
		lines = append(lines, "    command: "+commandName(f.Command))
	}
	for _, l := range stderr(f) {
		lines = append(lines, "    stderr: "+l)
	}
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	return lines
}

// missing are the hosts that plans left out and that are not updated either.
// Those of which it is told how they failed are not among them.
func (s *summary) missing() []engine.Exclusion {
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

// leftOut names the hosts that were left out, unless that is told already.
func (s *summary) leftOut(told string) []string {
	var lines []string
	untold := slices.DeleteFunc(s.missing(), func(x engine.Exclusion) bool { return strings.Contains(told, x.Reason) })
	for _, g := range exclusions(untold, false) {
		lines = append(lines, string(g.why)+": "+g.text)
	}
	return lines
}

// drifted names the hosts that apply leaves as they are, and the ways out.
func (s *summary) drifted() []string {
	var lines, order []string
	hosts := map[string][]string{}
	for _, d := range s.plan.Drift {
		what := kinds(d.Changes)
		if hosts[what] == nil {
			order = append(order, what)
		}
		hosts[what] = append(hosts[what], d.Host)
	}
	for _, what := range order {
		lines = append(lines, "drifted: "+folded(hosts[what])+": "+what)
	}
	return append(lines, `apply leaves that alone, by drift = "report" of their pools`,
		"to keep what was changed: put it into the documents; to undo it: take drift = \"report\" out of the pool")
}

// longReason is how long a reason may be, in bytes, to be shown whole. A longer one names
// many hosts, one by one.
const longReason = 400

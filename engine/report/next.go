package report

import (
	"fmt"
	"strings"

	"holdfast/engine"
)

// next is what a person has to know and do when a run did not succeed: each
// kind of failure with all that is known of it, and the command that goes on.
func (s *summary) next(end engine.RunEnd) []string {
	touched := s.text() != ""
	if end.Exit == engine.ExitOK || end.Exit == engine.ExitStopped && !touched {
		return nil
	}
	lines := s.failures()
	for _, e := range s.others {
		lines = append(lines, strings.TrimSpace(e.Cluster+" "+e.Step)+": "+e.Failure.Cause)
		lines = append(lines, details("", "", *e.Failure)...)
	}
	lines = append(lines, s.leftOut(end)...)
	if end.Exit == engine.ExitWork {
		return append(lines, s.drifted()...)
	}
	advice := "to try again"
	switch {
	case end.Exit == engine.ExitStopped:
		advice = "to go on from here"
	case touched:
		advice = "to go on from here, when that is put right"
	}
	return append(lines, advice+": "+s.again())
}

// failedKinds is how many kinds of failure are shown whole.
const failedKinds = 5

// failures shows each kind of failure once, with the hosts that met it.
func (s *summary) failures() []string {
	type key struct{ step, cause string }
	hosts := map[key][]*hostSummary{}
	var order []key
	for _, name := range sortedKeys(s.hosts) {
		h := s.hosts[name]
		if h.failure == nil || h.failure.Kind == "stopped" {
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
		lines = append(lines, failed(hosts[k])...)
	}
	return lines
}

// failed is one kind of failure, as the first of its hosts met it.
func failed(hosts []*hostSummary) []string {
	var names []string
	for _, h := range hosts {
		names = append(names, h.name)
	}
	first := hosts[0]
	return append([]string{strings.Join(engine.FoldNames(names), ", ") + " failed at " + first.failure.Step + ": " + first.failure.Cause},
		details(first.name, first.became, *first.failure)...)
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
	for _, l := range strings.Split(f.Stderr, "\n") {
		if l = strings.TrimSpace(strings.TrimSuffix(l, `\r`)); l != "" && !strings.HasSuffix(l, f.Cause) {
			lines = append(lines, "    stderr: "+l)
		}
	}
	if f.Hint != "" {
		lines = append(lines, "    hint: "+f.Hint)
	}
	return lines
}

// leftOut names the hosts that the plan left out, unless the reason of the
// end has them all.
func (s *summary) leftOut(end engine.RunEnd) []string {
	var lines []string
	if strings.HasPrefix(end.Reason, incomplete) && len(end.Reason) <= longReason {
		return nil
	}
	for _, g := range exclusions(s.plan.Excluded, false) {
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

// incomplete is how the reason begins that names the hosts left out.
const incomplete = "incomplete: "

// longReason is how long a reason may be to be shown whole. A longer one names
// many hosts, one by one.
const longReason = 400

// again is the command that starts the same run once more. A saved plan is
// left out of it: it no longer fits hosts that were changed.
func (s *summary) again() string {
	words := []string{"holdfast"}
	if len(s.args) == 0 {
		words = append(words, "apply")
	}
	for i := 0; i < len(s.args); i++ {
		switch arg := s.args[i]; {
		case arg == "--plan":
			i++
		case strings.HasPrefix(arg, "--plan="):
		default:
			words = append(words, engine.Quote(arg))
		}
	}
	return strings.Join(words, " ")
}

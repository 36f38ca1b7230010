package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// Plain writes a line for each thing worth knowing, for cron, CI and logs.
type Plain struct {
	W     io.Writer
	Style Style
	Short bool // no time in front
	Plan  bool // the plan is shown when it is made
	Terse bool // steps that go well are left out
	Full  bool // every step is shown, when it begins and when it ends

	sum    *summary
	crowd  crowd
	steps  planSteps
	missed []string // hosts that could not be reached when all were last looked at
}

// Emit writes the line of an event, if it has one.
func (p *Plain) Emit(e engine.Event) error {
	_, err := io.WriteString(p.W, p.line(e))
	return err
}

// line is the line of an event with its time, or "". What is folded may come
// before it. The end of a run brings the summary with it.
func (p *Plain) line(e engine.Event) string {
	if p.sum == nil {
		p.sum = newSummary()
	}
	e = safe(e)
	p.sum.add(e)
	p.crowd.add(e)
	if e.Type == engine.Planned && e.Plan != nil {
		p.steps = stepsOf(*e.Plan)
	}
	text := ""
	if !p.crowd.folds(e) {
		text = p.stamped(e, p.text(e))
	}
	if e.Type == engine.RunEnded {
		text = p.sum.text() + strings.TrimSuffix(text, "\n") + "\n" + p.completeness(*e.End) + p.next(*e.End)
	}
	crowd := p.crowd.line(e)
	if crowd != "" {
		crowd = p.stamped(e, "  "+p.Style.green(crowd))
	}
	return crowd + text
}

// stamped is a text with the time of an event in front.
func (p *Plain) stamped(e engine.Event, text string) string {
	if text == "" {
		return ""
	}
	if !p.Short {
		text = p.Style.faint(e.Time.Local().Format(time.TimeOnly)) + " " + text
	}
	return text + "\n"
}

// text is what a person reads about an event.
func (p *Plain) text(e engine.Event) string {
	switch e.Type {
	case engine.RunStarted:
		return "run " + e.Run + " of site " + e.Start.Site + " by " + e.Start.Holder
	case engine.HostGathered:
		if e.Failure != nil {
			p.missed = append(p.missed, e.Host)
		}
	case engine.HostsGathered:
		return p.gathered(e)
	case engine.Planned:
		return p.plan(e)
	case engine.StageStarted:
		return p.Style.bold("staging") + " while everything runs"
	case engine.StageEnded:
		return "staged in " + brief(e.Took)
	case engine.BatchStarted:
		return p.Style.bold(batch(e)) + "  " + strings.Join(textutil.FoldNames(e.Hosts), ", ")
	case engine.BatchEnded:
		return batch(e) + " done in " + brief(e.Took)
	case engine.RunEnded:
		return p.end(*e.End)
	case engine.Warned:
		return p.Style.yellow("warning") + " " + e.Message
	case engine.Interrupted:
		return p.Style.yellow(e.Message)
	case engine.HostDone:
		return "  " + p.Style.green(e.Host+" done")
	case engine.HostFailed:
		return p.failure(e)
	case engine.StepStarted:
		return cmp.Or(waits(e), p.begins(e))
	case engine.StepEnded, engine.StepProgress:
		return p.step(e)
	}
	return ""
}

// batch names a batch.
func batch(e engine.Event) string {
	name := fmt.Sprintf("batch %d", e.Batch)
	if len(e.Canaries) > 0 {
		name += " (canary of " + strings.Join(e.Canaries, ", ") + ")"
	}
	return name
}

func (p *Plain) plan(e engine.Event) string {
	if !p.Plan || e.Plan == nil {
		return ""
	}
	var b strings.Builder
	_ = WritePlan(&b, *e.Plan, p.Style, false) // a builder takes everything
	return strings.TrimRight("plan\n"+b.String(), "\n")
}

// quick steps that say nothing are not worth a line.
const quick = engine.Duration(500 * time.Millisecond)

func (p *Plain) step(e engine.Event) string {
	where := e.Host
	if where == "" {
		where = e.Cluster
	}
	switch {
	case e.Failure != nil && e.Host == "" && e.Failure.Kind != engine.StoppedFailure:
		return whole(p.Style.red("  "+stepOf(e)+" failed"), e, *e.Failure)
	case p.Terse && (e.Host != "" || e.Type == engine.StepProgress && e.Took > 0):
		return "" // the board shows it
	case e.Type == engine.StepProgress && e.Took > 0:
		return goesOn(where, e)
	case e.Type == engine.StepProgress && where == "":
		return fmt.Sprintf("  %s: %s", e.Step, shortHashes(e.Message))
	case e.Type == engine.StepProgress:
		return fmt.Sprintf("  %s: %s: %s", where, e.Step, shortHashes(e.Message))
	case e.Failure != nil, e.Took < quick && !p.Full && !p.steps.notable(e):
		return ""
	case where == "" && e.Pool != "":
		return fmt.Sprintf("  %s: %s %s", e.Pool, e.Step, p.Style.faint(brief(e.Took)))
	case where == "":
		return fmt.Sprintf("  %s %s", e.Step, p.Style.faint(brief(e.Took)))
	}
	return fmt.Sprintf("  %s: %s %s", where, e.Step, p.Style.faint(brief(e.Took)))
}

// failure is all that is known of why a host failed, and what became of it.
func (p *Plain) failure(e engine.Event) string {
	if e.Failure.Kind == engine.StoppedFailure {
		return whole(p.Style.yellow("  "+e.Host)+" stopped at "+e.Failure.Step, e, *e.Failure)
	}
	return whole(p.Style.red("  "+e.Host+" failed")+" at "+e.Failure.Step, e, *e.Failure)
}

// stepOf names a step of no host.
func stepOf(e engine.Event) string {
	if e.Cluster != "" {
		return e.Step + " of " + e.Cluster
	}
	return e.Step
}

// whole is a failure where it happens.
func whole(what string, e engine.Event, f engine.Failure) string {
	lines := []string{what + ": " + f.Cause}
	for _, l := range details(e.Host, e.Message, f) {
		lines = append(lines, "  "+l)
	}
	return strings.Join(lines, "\n")
}

// commandName is a command of one line, or says how long a script is.
func commandName(s string) string {
	s = strings.TrimSpace(s)
	if n := strings.Count(s, "\n"); n > 0 {
		return fmt.Sprintf("a script of %d lines, in the journal", n+1)
	}
	return s
}

var hash = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// shortHashes cuts commits and digests to what tells them apart.
func shortHashes(s string) string {
	return hash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] })
}

func (p *Plain) end(end engine.RunEnd) string {
	paint := p.Style.red
	switch end.Exit {
	case engine.ExitOK:
		paint = p.Style.green
	case engine.ExitWork:
		paint = p.Style.yellow
	default: // red
	}
	reason, _ := p.sum.reason(end)
	lines := []string{paint(fmt.Sprintf("exit %d: %s", end.Exit, reason))}
	for _, part := range []struct {
		what  string
		hosts []string
	}{{"updated", end.Updated}, {"failed", end.Failed}, {"not updated", end.Left}} {
		if len(part.hosts) > 0 {
			lines = append(lines, "  "+part.what+": "+strings.Join(textutil.FoldNames(part.hosts), ", "))
		}
	}
	if len(end.NotBegun) > 0 {
		lines = append(lines, "  plays not begun: "+strings.Join(end.NotBegun, ", "))
	}
	return strings.Join(lines, "\n")
}

// next is what is to be done about a run that did not succeed.
func (p *Plain) next(end engine.RunEnd) string {
	lines := p.sum.next(end)
	if len(lines) == 0 {
		return ""
	}
	return p.Style.bold("What to do") + "\n  " + strings.Join(lines, "\n  ") + "\n"
}

// brief is a duration without false precision.
func brief(d engine.Duration) string {
	t := time.Duration(d)
	switch {
	case t < 10*time.Second:
		return fmt.Sprintf("%.1f s", t.Seconds())
	case t < 2*time.Minute:
		return fmt.Sprintf("%.0f s", t.Seconds())
	}
	return t.Round(time.Second).String()
}

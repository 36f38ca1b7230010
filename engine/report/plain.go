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

// Plain writes a line for each notable event, for cron, CI and logs.
type Plain struct {
	W     io.Writer
	Style Style
	Short bool // omit the time of each line
	Plan  bool // show each plan
	Terse bool // omit successful steps
	Full  bool // show the begin and the end of every step

	sum       *summary
	pending   pendingHosts
	steps     planSteps
	unreached []string // unreachable hosts since facts were last gathered
}

// Emit writes the line of an event, if it has one.
func (p *Plain) Emit(e engine.Event) error {
	_, err := io.WriteString(p.W, p.eventLine(e))
	return err
}

// eventLine returns the line of an event with its time, or "". Folded lines may precede it, and the summary
// follows the end of a run.
func (p *Plain) eventLine(e engine.Event) string {
	if p.sum == nil {
		p.sum = newSummary()
	}
	e = withSafeTexts(e)
	p.sum.addEvent(e)
	p.pending.addEvent(e)
	if e.Type == engine.Planned && e.Plan != nil {
		p.steps = indexSteps(*e.Plan)
	}
	text := ""
	if !p.pending.foldsLine(e) {
		text = p.withTime(e, p.eventText(e))
	}
	if e.Type == engine.RunEnded {
		text = p.sum.formatSummary() + strings.TrimSuffix(text, "\n") + "\n" + p.completenessText(*e.End) + p.nextStepsText(*e.End)
	}
	done := p.pending.doneLine(e)
	if done != "" {
		done = p.withTime(e, "  "+p.Style.green(done))
	}
	return done + text
}

func (p *Plain) withTime(e engine.Event, text string) string {
	if text == "" {
		return ""
	}
	if !p.Short {
		text = p.Style.faint(e.Time.Local().Format(time.TimeOnly)) + " " + text
	}
	return text + "\n"
}

func (p *Plain) eventText(e engine.Event) string {
	switch e.Type {
	case engine.RunStarted:
		return "run " + e.Run + " of site " + e.Start.Site + " by " + e.Start.Holder
	case engine.HostGathered:
		if e.Failure != nil {
			p.unreached = append(p.unreached, e.Host)
		}
	case engine.HostsGathered:
		return p.gatheredText(e)
	case engine.Planned:
		return p.planText(e)
	case engine.StageStarted:
		return p.Style.bold("staging") + " while everything runs"
	case engine.StageEnded:
		return "staged in " + formatDuration(e.Took)
	case engine.BatchStarted:
		return p.Style.bold(batchName(e)) + "  " + strings.Join(textutil.FoldNames(e.Hosts), ", ")
	case engine.BatchEnded:
		return batchName(e) + " done in " + formatDuration(e.Took)
	case engine.RunEnded:
		return p.endText(*e.End)
	case engine.Warned:
		return p.Style.yellow("warning") + " " + e.Message
	case engine.Interrupted:
		return p.Style.yellow(e.Message)
	case engine.HostDone:
		return "  " + p.Style.green(e.Host+" done")
	case engine.HostFailed:
		return p.failureText(e)
	case engine.StepStarted:
		return cmp.Or(waitLine(e), p.stepBeginText(e))
	case engine.StepEnded, engine.StepProgress:
		return p.stepText(e)
	}
	return ""
}

func batchName(e engine.Event) string {
	name := fmt.Sprintf("batch %d", e.Batch)
	if len(e.Canaries) > 0 {
		name += " (canary of " + strings.Join(e.Canaries, ", ") + ")"
	}
	return name
}

func (p *Plain) planText(e engine.Event) string {
	if !p.Plan || e.Plan == nil {
		return ""
	}
	var b strings.Builder
	_ = WritePlan(&b, *e.Plan, p.Style, false) // a builder takes everything
	return strings.TrimRight("plan\n"+b.String(), "\n")
}

// quickStep is the duration below which a step without a message gets no line.
const quickStep = engine.Duration(500 * time.Millisecond)

func (p *Plain) stepText(e engine.Event) string {
	where := e.Host
	if where == "" {
		where = e.Cluster
	}
	switch {
	case e.Failure != nil && e.Host == "" && e.Failure.Kind != engine.StoppedFailure:
		return fullFailure(p.Style.red("  "+stepName(e)+" failed"), e, *e.Failure)
	case p.Terse && (e.Host != "" || e.Type == engine.StepProgress && e.Took > 0):
		return "" // the live status shows the step
	case e.Type == engine.StepProgress && e.Took > 0:
		return longStepLine(where, e)
	case e.Type == engine.StepProgress && where == "":
		return fmt.Sprintf("  %s: %s", e.Step, shortHashes(e.Message))
	case e.Type == engine.StepProgress:
		return fmt.Sprintf("  %s: %s: %s", where, e.Step, shortHashes(e.Message))
	case e.Failure != nil, e.Took < quickStep && !p.Full && !p.steps.isNotable(e):
		return ""
	case where == "" && e.Pool != "":
		return fmt.Sprintf("  %s: %s %s", e.Pool, e.Step, p.Style.faint(formatDuration(e.Took)))
	case where == "":
		return fmt.Sprintf("  %s %s", e.Step, p.Style.faint(formatDuration(e.Took)))
	}
	return fmt.Sprintf("  %s: %s %s", where, e.Step, p.Style.faint(formatDuration(e.Took)))
}

func (p *Plain) failureText(e engine.Event) string {
	if e.Failure.Kind == engine.StoppedFailure {
		return fullFailure(p.Style.yellow("  "+e.Host)+" stopped at "+e.Failure.Step, e, *e.Failure)
	}
	return fullFailure(p.Style.red("  "+e.Host+" failed")+" at "+e.Failure.Step, e, *e.Failure)
}

func stepName(e engine.Event) string {
	if e.Cluster != "" {
		return e.Step + " of " + e.Cluster
	}
	return e.Step
}

func fullFailure(what string, e engine.Event, f engine.Failure) string {
	lines := []string{what + ": " + f.Cause}
	for _, l := range failureDetails(e.Host, e.Message, f) {
		lines = append(lines, "  "+l)
	}
	return strings.Join(lines, "\n")
}

func commandName(s string) string {
	s = strings.TrimSpace(s)
	if n := strings.Count(s, "\n"); n > 0 {
		return fmt.Sprintf("a script of %d lines, in the journal", n+1)
	}
	return s
}

var longHash = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

func shortHashes(s string) string {
	return longHash.ReplaceAllStringFunc(s, func(h string) string { return h[:12] })
}

func (p *Plain) endText(end engine.RunEnd) string {
	paint := p.Style.red
	switch end.Exit {
	case engine.ExitOK:
		paint = p.Style.green
	case engine.ExitWork:
		paint = p.Style.yellow
	default: // red
	}
	reason, _ := p.sum.shortReason(end)
	lines := []string{paint(fmt.Sprintf("exit %d: %s", end.Exit, reason))}
	for _, part := range []struct {
		what  string
		hosts []string
	}{{"updated", end.Updated}, {"failed", end.Failed}, {"not updated", end.Untouched}} {
		if len(part.hosts) > 0 {
			lines = append(lines, "  "+part.what+": "+strings.Join(textutil.FoldNames(part.hosts), ", "))
		}
	}
	if len(end.NotBegun) > 0 {
		lines = append(lines, "  plays not begun: "+strings.Join(end.NotBegun, ", "))
	}
	return strings.Join(lines, "\n")
}

func (p *Plain) nextStepsText(end engine.RunEnd) string {
	lines := p.sum.nextSteps(end)
	if len(lines) == 0 {
		return ""
	}
	return p.Style.bold("What to do") + "\n  " + strings.Join(lines, "\n  ") + "\n"
}

func formatDuration(d engine.Duration) string {
	t := time.Duration(d)
	switch {
	case t < 10*time.Second:
		return fmt.Sprintf("%.1f s", t.Seconds())
	case t < 2*time.Minute:
		return fmt.Sprintf("%.0f s", t.Seconds())
	}
	return t.Round(time.Second).String()
}

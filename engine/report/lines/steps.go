package lines

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
)

// quickStep is the duration below which a step without a message gets no line.
const quickStep = engine.Duration(500 * time.Millisecond)

func (p *Writer) stepText(e event.Event) string {
	where, step := cmp.Or(e.Host, e.Cluster), p.endedStep(e)
	switch {
	case e.Failure != nil && e.Host == "" && e.Failure.Kind != engine.StoppedFailure:
		return failureLines(p.Style.Red("  "+summary.StepName(e)+" failed"), e)
	case p.Terse && (e.Host != "" || e.Type == event.StepProgress && e.Took > 0):
		return "" // the live status shows the step
	case e.Type == event.StepProgress && e.Took > 0:
		return longStepLine(where, e)
	case e.Type == event.StepProgress && where == "":
		return fmt.Sprintf("  %s: %s", e.Step, termtext.ShortHashes(e.Message))
	case e.Type == event.StepProgress:
		return fmt.Sprintf("  %s: %s: %s", where, e.Step, termtext.ShortHashes(e.Message))
	case e.Failure != nil && !p.Full, e.Took < quickStep && !p.Full && !p.steps.isNotable(e):
		return ""
	case where == "" && e.Pool != "":
		return fmt.Sprintf("  %s: %s %s", e.Pool, step, p.Style.Faint(termtext.FormatDuration(e.Took)))
	case where == "":
		return fmt.Sprintf("  %s %s", step, p.Style.Faint(termtext.FormatDuration(e.Took)))
	}
	return fmt.Sprintf("  %s: %s %s", where, step, p.Style.Faint(termtext.FormatDuration(e.Took)))
}

// endedStep returns the name of a step, and that it has failed or was stopped. Its cause follows with the host or in a warning.
func (p *Writer) endedStep(e event.Event) string {
	switch {
	case e.Failure == nil:
		return e.Step
	case e.Failure.Kind == engine.StoppedFailure:
		return e.Step + " " + p.Style.Yellow("stopped")
	}
	return e.Step + " " + p.Style.Red("failed")
}

func (p *Writer) failureText(e event.Event) string {
	if e.Failure.Kind == engine.StoppedFailure {
		return failureLines(p.Style.Yellow("  "+e.Host)+" stopped at "+e.Failure.Step, e)
	}
	if e.Outcome == event.RolledBackEarlierOutcome {
		return failureLines(p.Style.Red("  "+e.Host), e)
	}
	return failureLines(p.Style.Red("  "+e.Host+" failed")+" at "+e.Failure.Step, e)
}

func failureLines(title string, e event.Event) string {
	f := *e.Failure
	lines := []string{title + ": " + f.Cause}
	if e.Message != "" {
		lines = append(lines, e.Host+": "+e.Message)
	}
	if f.Command != "" {
		lines = append(lines, "command: "+commandName(f.Command))
	}
	for _, l := range summary.StderrLines(f) {
		lines = append(lines, "stderr: "+l)
	}
	if f.Hint != "" {
		lines = append(lines, "hint: "+f.Hint)
	}
	return strings.Join(lines, "\n      ")
}

func commandName(s string) string {
	s = strings.TrimSpace(s)
	if n := strings.Count(s, "\n"); n > 0 {
		return fmt.Sprintf("a script of %d lines, in the journal", n+1)
	}
	return s
}

// waitLine returns "" for steps of hosts, which have other lines.
func waitLine(e event.Event) string {
	if e.Host != "" || e.Until.IsZero() {
		return ""
	}
	where := cmp.Or(e.Cluster, e.Pool)
	if where != "" {
		where += ": "
	}
	return fmt.Sprintf("  %s%s until %s", where, e.Step, formatTime(e.Until, e.Time))
}

func longStepLine(where string, e event.Event) string {
	line := "  "
	if where != "" {
		line += where + ": "
	}
	line += fmt.Sprintf("%s goes on, %s by now", e.Step, time.Duration(e.Took).Round(time.Second))
	if e.Limit > 0 {
		line += fmt.Sprintf(" of at most %s", e.Limit.Trimmed())
	}
	if e.Message != "" {
		line += ": " + termtext.ShortenText(termtext.ShortHashes(e.Message))
	}
	return line
}

func formatTime(t, now time.Time) string {
	if t.Sub(now) < 24*time.Hour {
		return t.UTC().Format("15:04:05 MST")
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 MST")
}

// transferLineInterval is the time between two lines about the transfer to a host.
const transferLineInterval = 30 * time.Second

// transferText returns a line every transferLineInterval, and at the end of the transfer.
func (p *Writer) transferText(e event.Event) string {
	if p.Terse {
		return "" // the live status shows the transfer
	}
	last, ok := p.transfers[e.Host]
	if !ok {
		last = e.Time.Add(-time.Duration(e.Took))
	}
	if !e.Progress.Ended && e.Time.Sub(last) < transferLineInterval {
		return ""
	}
	if p.transfers == nil {
		p.transfers = map[string]time.Time{}
	}
	p.transfers[e.Host] = e.Time
	return "  " + e.Host + ": " + e.Step + ": " + termtext.FormatTransfer(*e.Progress)
}

func (p *Writer) stepBeginText(e event.Event) string {
	if !p.Full {
		return ""
	}
	line := ""
	if place := e.Subject(); place != engine.Bastion {
		line += place + ": "
	}
	line += e.Step + " begins"
	if s, ok := p.steps.findStep(e.Host, e.Step); ok {
		line += planview.OperationDetail(s.Do)
	}
	return p.Style.Faint("  " + commandName(line))
}

// planSteps finds the steps of a plan by host and name.
type planSteps struct {
	plan  engine.Plan
	hosts map[string]*engine.HostPlan
}

func indexSteps(p engine.Plan) planSteps { return planSteps{plan: p, hosts: p.ByHost()} }

// findStep returns a step of a host by its name, which is safe for a terminal. Without a host it
// returns a step around all hosts.
func (p planSteps) findStep(host, name string) (engine.Step, bool) {
	for _, list := range p.stepsOf(host) {
		for _, s := range list {
			if s.Name == name || termtext.Safe(s.Name) == name {
				return termtext.Safe(s), true
			}
		}
	}
	return engine.Step{}, false
}

func (p planSteps) stepsOf(host string) [][]engine.Step {
	if hp := p.hosts[host]; hp != nil {
		return [][]engine.Step{hp.Stage, hp.Sequence, hp.Rollback}
	}
	lists := [][]engine.Step{p.plan.Start, p.plan.Before}
	for _, b := range p.plan.Batches {
		lists = append(lists, b.Before, b.After)
	}
	return lists
}

// isNotable reports whether a step gets a line even if it is short: it changes
// the host, asks a gate, or runs a command of the operator.
func (p planSteps) isNotable(e event.Event) bool {
	s, ok := p.findStep(e.Host, e.Step)
	return ok && (s.ChangesHost || s.Do.Gate != nil || s.Do.Command != nil || s.Do.Exec != nil && s.Do.Exec.Display != "")
}

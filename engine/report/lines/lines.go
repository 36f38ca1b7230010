package lines

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/governed"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// Writer writes a line for each notable event, for cron, CI and logs.
type Writer struct {
	W     io.Writer
	Style termtext.Style
	Short bool // omit the time of each line
	Plan  bool // show each plan
	Terse bool // omit successful steps
	Full  bool // show everything: whole plans, and the start and the end of every step

	sum       *summary.Summary
	pending   pendingHosts
	steps     planSteps
	transfers map[string]time.Time // time of the last line about the transfer of each host
	unreached []string             // unreachable hosts since facts were last gathered

	start event.RunStart // of the run
}

// Emit writes the line of an event, if it has one.
func (p *Writer) Emit(e event.Event) error {
	_, err := io.WriteString(p.W, p.EventLine(termtext.SafeEvent(e), e.Plan))
	return err
}

// EventLine returns the line of an event with its time, or "". Folded lines may
// come before it, and the summary comes after the end of a run. The event comes
// from termtext.SafeEvent. plan is the plan as the event had it before SafeEvent,
// because planview itself makes the texts of plans safe.
func (p *Writer) EventLine(e event.Event, plan *engine.Plan) string {
	if p.sum == nil {
		p.sum = summary.New()
		p.sum.Style, p.sum.Full = p.Style, p.Full
	}
	if !isWhole(e) {
		return ""
	}
	if e.Type == event.RunStarted {
		p.start = *e.Start
	}
	switch { // such runs have no plan, no batches, and no summary of hosts
	case p.start.Cluster != "":
		return p.withTime(e, p.membersText(e))
	case p.start.Maintenance != "":
		return p.withTime(e, p.maintenanceText(e))
	}
	p.sum.AddEvent(e)
	folded, done := false, ""
	if !p.Full {
		folded, done = p.pending.addEvent(e)
	}
	if done != "" {
		done = p.withTime(e, "  "+p.Style.Green(done))
	}
	if e.Type == event.Planned && e.Plan != nil {
		p.steps = indexSteps(*e.Plan)
	}
	switch {
	case e.Type == event.RunEnded:
		above, last := p.sum.EndText()
		return done + above + p.withTime(e, last)
	case e.Type == event.Planned:
		return done + p.withTime(e, p.planText(plan))
	case folded:
		return done
	}
	return done + p.withTime(e, p.eventText(e))
}

// isWhole reports whether an event has the part that its line is about. A damaged journal may lack it.
func isWhole(e event.Event) bool {
	switch e.Type {
	case event.RunStarted:
		return e.Start != nil
	case event.MaintenancePlanned:
		return e.Maintenance != nil
	case event.HostFailed:
		return e.Failure != nil
	case event.RunEnded:
		return e.End != nil
	default:
		return true
	}
}

func (p *Writer) withTime(e event.Event, text string) string {
	if text == "" {
		return ""
	}
	if !p.Short {
		text = p.Style.Faint(e.Time.Local().Format(time.TimeOnly)) + " " + text
	}
	return text + "\n"
}

func (p *Writer) eventText(e event.Event) string {
	switch e.Type {
	case event.RunStarted:
		return "run " + e.Run + " of site " + e.Start.Site + " by " + e.Start.Holder
	case event.HostGathered:
		if e.Failure != nil {
			p.unreached = append(p.unreached, e.Host)
		}
	case event.HostsGathered:
		return p.gatheredText(e)
	case event.StageStarted:
		return p.Style.Bold("staging") + " while everything runs"
	case event.StageEnded:
		return "staged in " + termtext.FormatDuration(e.Took)
	case event.BatchStarted:
		return p.Style.Bold(batchName(e)) + "  " + strings.Join(textutil.FoldNames(e.Hosts), ", ")
	case event.BatchEnded:
		return batchName(e) + " done in " + termtext.FormatDuration(e.Took)
	case event.Planned, event.MaintenancePlanned, event.RunEnded: // planText, maintenanceText and the summary have their lines
	case event.Warned:
		return p.Style.Yellow("warning") + " " + e.Message
	case event.Interrupted:
		return p.Style.Yellow(e.Message)
	case event.HostDone:
		return "  " + p.Style.Green(e.Host+" done")
	case event.HostFailed:
		return p.failureText(e)
	case event.StepStarted:
		return cmp.Or(waitLine(e), p.stepBeginText(e))
	case event.StagingGoverned:
		return governedText(e)
	case event.EtcdSampled: // samples show in the summary
	case event.StepEnded, event.StepProgress:
		if e.Progress != nil {
			return p.transferText(e)
		}
		return p.stepText(e)
	}
	return ""
}

func (p *Writer) gatheredText(e event.Event) string {
	text := e.Message + " in " + e.Took.String()
	if len(p.unreached) > 0 {
		text += "; not reached: " + strings.Join(textutil.FoldNames(p.unreached), ", ")
		p.unreached = nil
	}
	return p.Style.Faint(text)
}

func batchName(e event.Event) string {
	name := fmt.Sprintf("batch %d", e.Batch)
	if len(e.Canaries) > 0 {
		name += " (canary of " + strings.Join(e.Canaries, ", ") + ")"
	}
	return name
}

// planText returns the plan as planview has it, which makes its texts safe.
func (p *Writer) planText(plan *engine.Plan) string {
	if !p.Plan || plan == nil {
		return ""
	}
	var b strings.Builder
	_ = planview.Write(&b, *plan, p.Style, p.Full) // writing to a strings.Builder never fails
	return strings.TrimRight("plan\n"+b.String(), "\n")
}

func governedText(e event.Event) string {
	if e.Governor == nil {
		return ""
	}
	line := governed.Line(e.Host, *e.Governor)
	if line != "" {
		line = "  " + line
	}
	return line
}

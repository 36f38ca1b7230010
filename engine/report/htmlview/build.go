package htmlview

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/membersview"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// page has everything that the template shows. All texts are made printable in
// one place, before the template escapes them.
type page struct {
	Title, Run  string
	Notices     []string
	Facts       []fact
	Exit, State string // how the run ended, in a sentence, and one word for the styles
	Totals      string
	Pools       []poolRow
	Next        []string
	Command     string
	OpenSteps   []openStep
	Timeline    *timelinePart
	Members     *membersPart
	Clusters    []clusterPart
	Changes     *changesPart
	LeftOut     []exclusionRow
	Drift       []driftRow
	Refusals    []string
	Failures    []failureRow
	Warnings    []warningRow
	Waits       []waitRow
	More        moreRows
}

// moreRows has the numbers of rows that are left out of the parts of a page.
type moreRows struct{ Failures, Warnings, Waits, Members, Changes int }

type fact struct{ Name, Value string }

type poolRow struct{ Name, Updated, Others string }

// openStep is a step that has begun and not ended.
type openStep struct{ Subject, Step, Since string }

type warningRow struct{ At, Text string }

func (v *View) buildPage(j Journal) page {
	if v.end == nil {
		v.sum.AddEvent(event.Event{Type: event.RunEnded, Time: v.last, End: v.assumeEnd()})
	}
	s := scale{v.began, v.last}
	p := page{Run: v.run, Title: "Run " + v.run + " of site " + v.start.Site}
	p.Notices = v.listNotices(j)
	p.Facts = v.listFacts(j)
	p.Totals = v.sum.Totals(v.sum.Results()).String()
	v.addEnd(&p, j)
	v.addNext(&p, j)
	p.Pools = v.listPools()
	if v.end == nil {
		p.OpenSteps = v.listOpenSteps(s)
	}
	if v.changesMembers() {
		p.Members, p.Totals = v.buildMembers(s), ""
	} else if v.isMaintenance() {
		p.Totals = ""
	} else {
		p.Timeline = v.buildTimeline(s)
	}
	p.Clusters = v.buildClusters(s)
	p.Changes, p.More.Changes = v.buildChanges()
	p.LeftOut, p.Drift, p.Refusals = v.listExclusions(), v.listDrift(), v.listRefusals()
	v.addFailures(&p, s)
	for _, w := range v.warnings.list {
		row := warningRow{"plan", w.Text}
		if !w.At.IsZero() {
			row.At = s.clock(w.At)
		}
		p.Warnings = append(p.Warnings, row)
	}
	p.Waits = v.listWaits(s)
	p.More.Warnings, p.More.Waits, p.More.Members = v.warnings.more, v.waits.more, v.lostSteps
	return p
}

func (v *View) listNotices(j Journal) []string {
	var notices []string
	if j.Problem != "" {
		notices = append(notices, "The journal could not be read to its end. This report has the events before the damage. "+j.Problem)
	}
	if j.Cut {
		notices = append(notices, "The last line of the journal is incomplete: the bastion died while it was written. The report has all lines before it.")
	}
	if len(v.unknown) > 0 {
		total := 0
		for _, n := range v.unknown {
			total += n
		}
		var names []string
		for _, t := range slices.Sorted(maps.Keys(v.unknown)) {
			names = append(names, string(t))
		}
		notices = append(notices, fmt.Sprintf("This version of holdfast does not know %s of the journal, and does not show them: %s.", termtext.FormatCount(total, "event", "events"), strings.Join(names, ", ")))
	}
	return notices
}

func (v *View) listFacts(j Journal) []fact {
	facts := []fact{{"Site", v.start.Site}, {"Run", v.run}, {"Person", v.start.Holder}}
	if v.changesMembers() {
		facts = append(facts, fact{"etcd cluster", v.start.Cluster})
	}
	facts = append(facts, fact{"Command", v.sum.CommandLine()}, fact{"Version", v.start.Version}, fact{"Began", fullTime(v.began)})
	switch {
	case v.end != nil:
		facts = append(facts, fact{"Ended", fullTime(v.last)})
	default:
		facts = append(facts, fact{"Last event", fullTime(v.last)})
	}
	facts = append(facts, fact{"Took", termtext.FormatDuration(engine.Duration(v.last.Sub(v.began)))})
	facts = append(facts, v.listForecasts()...)
	if len(v.start.Adopting) > 0 {
		facts = append(facts, fact{"Continues", strings.Join(v.start.Adopting, ", ")})
	}
	return slices.DeleteFunc(facts, func(f fact) bool { return f.Value == "" })
}

func fullTime(t time.Time) string {
	if t.IsZero() {
		return "not known"
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
}

// listForecasts returns the forecast of each play, and without a playbook that of the first plan.
func (v *View) listForecasts() (facts []fact) {
	for _, p := range v.plans {
		switch {
		case p.forecast == nil:
		case p.play != "":
			facts = append(facts, fact{"Forecast of play " + p.play, strings.Join(planview.ForecastLines(*p.forecast), " ")})
		case len(facts) == 0:
			facts = append(facts, fact{"Forecast", strings.Join(planview.ForecastLines(*p.forecast), " ")})
		}
	}
	return facts
}

// addEnd adds how the run ended.
func (v *View) addEnd(p *page, j Journal) {
	switch {
	case v.end == nil && j.UnderWay:
		p.State, p.Exit = "open", "The run is under way. This report has its events until now."
		p.Title += ": under way"
	case v.end == nil:
		p.State, p.Exit = "bad", "The run did not end: its journal has no end. Its process was killed, or the bastion died, after the last event."
		if j.Problem != "" {
			p.Exit = "The end of the run is not known, because the journal could not be read to its end."
		}
		p.Title += ": no end"
	default:
		text := report.EndText(*v.end)
		if v.changesMembers() {
			text = membersview.EndText(v.start.Cluster, v.end.Verdict)
		}
		p.State = "bad"
		if v.end.Exit == engine.ExitOK {
			p.State = "good"
		}
		p.Exit = fmt.Sprintf("Exit %d: %s.", v.end.Exit, text)
		p.Facts = append(p.Facts, fact{"Exit code", fmt.Sprintf("%d: %s", v.end.Exit, v.end.Exit.Meaning())})
		switch {
		case v.isMaintenance():
			p.Facts = append(p.Facts, fact{"Hosts", strings.Join(textutil.FoldNames(v.end.Updated), ", ")})
		case !v.changesMembers():
			p.Facts = append(p.Facts, fact{"Hosts", v.completeText()})
		}
		p.Title += fmt.Sprintf(": exit %d", v.end.Exit)
	}
}

func (v *View) completeText() string {
	text := strings.TrimSpace(v.sum.Completeness(*v.end))
	switch first, _, _ := strings.Cut(text, "\n"); {
	case first != "":
		return first
	case v.end.Complete:
		return "complete"
	}
	return "not complete"
}

// addNext adds the advice of the summary, and the next command to type. For a
// run without an end, these are of a run that failed now.
func (v *View) addNext(p *page, j Journal) {
	switch {
	case v.isMaintenance():
		return
	case v.changesMembers():
		if v.end == nil && !j.UnderWay || v.end != nil && v.end.Exit != engine.ExitOK {
			p.Next, p.Command = []string{"Run the same command again: it looks at the cluster, and continues."}, v.sum.CommandLine()
		}
		return
	case v.end == nil && j.UnderWay:
		return
	}
	end := v.end
	if end == nil {
		end = v.assumeEnd()
		text := "Run the same command again: it adopts the holds of this run, and continues."
		held, unknown := v.sum.HoldsLeft()
		if len(held) > 0 {
			text += " Until then these hosts stay held: " + strings.Join(textutil.FoldNames(held), ", ") + "."
		}
		if len(unknown) > 0 {
			text += " These may be held, as the run was about to hold them: " + strings.Join(textutil.FoldNames(unknown), ", ") + "."
		}
		p.Next = append(p.Next, text)
	}
	lines, command := v.sum.NextSteps(*end)
	p.Command = command
	for _, line := range lines {
		if n := len(p.Next); strings.HasPrefix(line, " ") && n > 0 {
			p.Next[n-1] += "\n" + strings.TrimSpace(line)
		} else {
			p.Next = append(p.Next, line)
		}
	}
}

// assumeEnd returns the end of a run that stopped after its last event, with its
// hosts and figures until then.
func (v *View) assumeEnd() *event.RunEnd {
	end := &event.RunEnd{Exit: engine.ExitFailed}
	v.figures.AddTo(end)
	v.sum.AssumeEnd(end)
	return end
}

func (v *View) listPools() []poolRow {
	if v.end == nil {
		return nil
	}
	var rows []poolRow
	for _, p := range v.end.Pools {
		var others []string
		for _, state := range engine.HostStates() {
			if n := p.Counts[state]; n > 0 && state != engine.Updated {
				others = append(others, fmt.Sprintf("%d %s", n, state))
			}
		}
		rows = append(rows, poolRow{p.Name, fmt.Sprintf("%d of %d", p.Counts[engine.Updated], p.Total), strings.Join(others, ", ")})
	}
	return rows
}

func (v *View) listOpenSteps(s scale) []openStep {
	open := slices.SortedFunc(maps.Values(v.underWay), func(a, b event.Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Host, b.Host))
	})
	var rows []openStep
	for _, e := range open {
		rows = append(rows, openStep{cmp.Or(e.Host, e.Member, e.Cluster, e.Pool, engine.Bastion), e.Step, s.clock(e.Time)})
	}
	return rows
}

type membersPart struct {
	Steps []memberRow
}

type memberRow struct{ At, Step, Subject, Took, Text string }

func (v *View) buildMembers(s scale) *membersPart {
	part := &membersPart{}
	for _, e := range v.memberSteps {
		text := e.Message
		if e.Failure != nil {
			text = "failed: " + e.Failure.Cause
		}
		part.Steps = append(part.Steps, memberRow{s.clock(e.Time), e.Step, cmp.Or(e.Host, e.Member), termtext.FormatDuration(e.Took), text})
	}
	return part
}

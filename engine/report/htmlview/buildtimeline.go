package htmlview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

const (
	maxOpenHosts = 200  // hosts whose rows are all shown; more are folded by batch
	maxRows      = 2000 // rows of a page; further hosts have one only if they are not updated
)

type timelinePart struct {
	Ticks  []tick
	Waits  []bar
	Groups []timelineGroup
	Folded bool // there are many hosts, so each group is closed
	Rows   int
}

type timelineGroup struct {
	Title, Text string
	Rows        []timelineRow
	Hidden      int // updated hosts without a row
}

type timelineRow struct {
	Host, Outcome, Text string
	Bars                []bar
	Failed              []string // positions of failures
}

func (v *View) buildTimeline(s scale) *timelinePart {
	results := v.resultsByHost()
	rest := slices.Sorted(maps.Keys(results))
	if len(results) == 0 && len(v.waits.longer) == 0 {
		return nil
	}
	part := &timelinePart{Ticks: s.ticks(), Folded: len(results) > maxOpenHosts}
	for _, w := range v.waits.longer {
		part.Waits = append(part.Waits, s.bar(w.kind.class(), w.from, w.to))
	}
	shown := map[string]int{} // batch of each host
	for i, b := range v.batches {
		var list []summary.HostResult
		var again []string
		for _, host := range b.hosts {
			r, touched := results[host]
			switch {
			case shown[host] > 0:
				again = append(again, host)
			case touched:
				shown[host] = i + 1
				list = append(list, r)
			}
		}
		g := v.buildGroup(part, s, list)
		g.Title = fmt.Sprintf("Batch %d", b.number)
		if len(b.canaries) > 0 {
			g.Title += ", canaries of " + strings.Join(b.canaries, ", ")
		}
		span := s.clock(b.began) + ", not over"
		if !b.ended.IsZero() {
			span = s.clock(b.began) + " to " + s.clock(b.ended)
		}
		g.Text = joinParts("; ", span, g.Text, againText(again))
		part.Groups = append(part.Groups, g)
	}
	rest = slices.DeleteFunc(rest, func(host string) bool { return shown[host] > 0 })
	if len(rest) > 0 {
		var list []summary.HostResult
		for _, host := range rest {
			list = append(list, results[host])
		}
		g := v.buildGroup(part, s, list)
		g.Title = "In no batch"
		part.Groups = append(part.Groups, g)
	}
	return part
}

// resultsByHost returns the results of all hosts that the run touched. In a run
// without an end, hosts have steps under way.
func (v *View) resultsByHost() map[string]summary.HostResult {
	results := map[string]summary.HostResult{}
	for _, r := range v.sum.Results() {
		if e, ok := v.underWay[r.Host]; ok && v.end == nil && r.Host != "" {
			r.Outcome = "at " + e.Step
		}
		results[r.Host] = r
	}
	return results
}

func againText(hosts []string) string {
	if len(hosts) == 0 {
		return ""
	}
	return "also " + termtext.FoldHosts(hosts) + ", with a row above"
}

func joinParts(sep string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), sep)
}

func (v *View) buildGroup(part *timelinePart, s scale, list []summary.HostResult) timelineGroup {
	var g timelineGroup
	for _, r := range list {
		if part.Rows >= maxRows && r.Updated {
			g.Hidden++
			continue
		}
		part.Rows++
		g.Rows = append(g.Rows, v.buildRow(s, r))
	}
	g.Text = countOutcomes(list, part.Folded)
	return g
}

// countOutcomes names the hosts that are not updated if their rows are folded.
func countOutcomes(list []summary.HostResult, names bool) string {
	var groups textutil.Groups[string, string]
	for _, r := range list {
		groups.Add(r.Outcome, r.Host)
	}
	var parts []string
	for outcome, hosts := range groups.All() {
		text := fmt.Sprintf("%d %s", len(hosts), outcome)
		if names && outcome != "updated" && len(hosts) <= 20 {
			text += " (" + strings.Join(textutil.FoldNames(hosts), ", ") + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func (v *View) buildRow(s scale, r summary.HostResult) timelineRow {
	row := timelineRow{Host: r.Host, Outcome: r.Outcome}
	if h := v.hosts[r.Host]; h != nil {
		spans := h.allSpans(v.last)
		slices.SortStableFunc(spans, func(a, b span) int { return int(a.kind - b.kind) })
		for _, x := range spans {
			row.Bars = append(row.Bars, s.bar(x.kind.class(), x.from, x.to))
		}
		for _, at := range h.failedAt {
			row.Failed = append(row.Failed, formatNumber(s.position(at)))
		}
	}
	var parts []string
	if r.FetchedBytes > 0 {
		parts = append(parts, "fetched "+termtext.FormatBytes(r.FetchedBytes))
	}
	if r.StagedIn > 0 {
		parts = append(parts, "staged in "+termtext.FormatDuration(r.StagedIn))
	}
	for _, x := range []struct {
		text string
		time engine.Duration
	}{{"slowed for ", r.SlowedFor}, {"paused for ", r.PausedFor}, {"at a fixed pace for ", r.FixedFor}} {
		if x.time > 0 {
			parts = append(parts, x.text+termtext.FormatDuration(x.time))
		}
	}
	switch {
	case r.NotBack:
		parts = append(parts, "not back since its reboot")
	case r.DownFor > 0:
		parts = append(parts, "down for "+termtext.FormatDuration(r.DownFor))
	}
	switch {
	case r.StillHeld:
		parts = append(parts, "still held")
	case r.HeldFor > 0:
		parts = append(parts, "held for "+termtext.FormatDuration(r.HeldFor))
	}
	row.Text = strings.Join(parts, ", ")
	return row
}

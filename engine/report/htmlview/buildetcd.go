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
	"holdfast/engine/report/summary"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

type clusterPart struct {
	Name, Health string
	TakenDown    []string
	Voters       *voterChart
	Outages      []outageRow
	Lost         string // changes of the number of voters that are not shown
	Members      []latencyRow
	Charts       []latencyChart
	MoreCharts   int // members whose charts are left out
	Staging      string
}

type voterChart struct {
	Path, QuorumY, Top string
	Quorum             int
	Ticks              []tick
}

type outageRow struct{ From, Until, Lasted, Healthy, Away string }

type latencyRow struct{ Host, Metric, Idle, Staging, Worst, At, Limit string }

type latencyChart struct {
	Host, Metric, Path, Top string
	LimitY, Limit           string // "": there was no limit
	Per                     int    // samples that a point stands for
	Stagings, Downs         []bar
	Ticks                   []tick
}

func (v *View) buildClusters(s scale) []clusterPart {
	totals := v.sum.Etcd()
	latencies := map[string][]event.MemberLatency{}
	for _, m := range v.sum.Latencies() {
		latencies[m.Cluster] = append(latencies[m.Cluster], m)
	}
	var parts []clusterPart
	for _, name := range slices.Sorted(maps.Keys(v.clusters)) {
		t, sampled := totals[name]
		if !sampled && len(latencies[name]) == 0 {
			continue
		}
		c := v.clusters[name]
		part := clusterPart{Name: name, Health: healthText(s, t), TakenDown: textutil.FoldNames(t.TakenDown)}
		part.Voters = buildVoters(s, c)
		if c.lost > 0 {
			part.Lost = fmt.Sprintf("These are the first %d changes, until %s. %d more are in the journal.", len(c.voters), s.clock(c.lostFrom), c.lost)
		}
		for _, o := range c.outages(v.last) {
			part.Outages = append(part.Outages, o.row(s))
		}
		stagings := v.stagingsNear(c)
		if len(stagings) > 0 {
			part.Staging = fmt.Sprintf("%s near this cluster, from %s to %s", termtext.FormatCount(len(stagings), "staging", "stagings"), s.clock(stagings[0].from), s.clock(lastEnd(stagings)))
		}
		for _, m := range latencies[name] {
			part.Members = append(part.Members, c.latencyRows(s, m)...)
		}
		part.Charts, part.MoreCharts = v.buildCharts(s, c, stagings), max(0, len(c.members)-maxCharts)
		parts = append(parts, part)
	}
	return parts
}

func (o outage) row(s scale) outageRow {
	row := outageRow{
		From: s.clock(o.at), Until: s.clock(o.until), Lasted: termtext.FormatDuration(engine.Duration(o.until.Sub(o.at))),
		Healthy: fmt.Sprintf("%d of %d, quorum %d", o.healthy, o.voters, o.quorum()), Away: strings.Join(textutil.FoldNames(o.away), ", "),
	}
	until := "not back at the last event"
	if o.unknown {
		row.Healthy, row.Away, until = "not known", cmp.Or(row.Away, "not known"), "no answer at the last event"
	}
	if o.open {
		row.Until, row.Lasted = until, "at least "+row.Lasted
	}
	return row
}

func healthText(s scale, t summary.EtcdTotals) string {
	unanswered := t.UnansweredText(s.clock, "")
	if len(t.Unseen) > 0 {
		unanswered += "; not seen during a soft reboot: " + strings.Join(textutil.FoldNames(t.Unseen), ", ")
	}
	switch {
	case t.Samples+t.Unanswered == 0:
		return "The run did not sample the health of this cluster."
	case t.Samples == 0:
		return fmt.Sprintf("Its health is not known: %s, none answered.", termtext.FormatCount(t.Unanswered, "sample", "samples"))
	case t.Least >= t.Voters && t.Unanswered > 0:
		answered := "the one sample"
		if t.Samples > 1 {
			answered = fmt.Sprintf("each of the %d samples", t.Samples)
		}
		return fmt.Sprintf("All %d voters were healthy in %s that a member answered (quorum %d%s).", t.Voters, answered, t.Quorum, unanswered)
	case t.Least >= t.Voters:
		return fmt.Sprintf("All %d voters were healthy all the time (quorum %d, %s%s).", t.Voters, t.Quorum, termtext.FormatCount(t.Samples, "sample", "samples"), unanswered)
	}
	return fmt.Sprintf("%d of %d voters were healthy at the least%s (quorum %d, %s%s).", t.Least, t.Voters, t.WhileAnswered(), t.Quorum, termtext.FormatCount(t.Samples, "sample", "samples"), unanswered)
}

func buildVoters(s scale, c *clusterHistory) *voterChart {
	if len(c.voters) < 2 {
		return nil
	}
	most, quorum := 0, 0
	for _, p := range c.voters {
		if p.voters > 0 {
			most, quorum = max(most, p.voters), outage{voterPoint: p}.quorum()
		}
	}
	if most == 0 {
		return nil
	}
	return &voterChart{
		Path: s.stepPath(c.voters, most, c.knownUntil(s.to)), QuorumY: formatNumber(chartHeight * (1 - float64(quorum)/float64(most))),
		Top: termtext.FormatCount(most, "voter", "voters"), Quorum: quorum, Ticks: s.ticks(),
	}
}

// stagingsNear returns the stagings of the hosts near a cluster, by their begin.
func (v *View) stagingsNear(c *clusterHistory) []span {
	return v.spansOf(c.near, staged)
}

func (v *View) spansOf(hosts []string, kind spanKind) []span {
	var all []span
	for _, host := range hosts {
		if h := v.hosts[host]; h != nil {
			for _, x := range h.allSpans(v.last) {
				if x.kind == kind {
					all = append(all, x)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b span) int { return a.from.Compare(b.from) })
	return all
}

func lastEnd(spans []span) time.Time {
	return slices.MaxFunc(spans, func(a, b span) int { return a.to.Compare(b.to) }).to
}

// limitOf returns the limit of a latency of a member in seconds, 0 without one.
// The limit of a member is at least IdleFactor times its idle latency.
func (c *clusterHistory) limitOf(host string, metric engine.LatencyMetric) float64 {
	if m := c.members[host]; m != nil && m.limits[metric] > 0 {
		return m.limits[metric]
	}
	return c.limits[metric]
}

func (c *clusterHistory) latencyRows(s scale, m event.MemberLatency) []latencyRow {
	limit := func(metric engine.LatencyMetric) string {
		if seconds := c.limitOf(m.Host, metric); seconds > 0 {
			return termtext.FormatLatency(seconds)
		}
		return "none"
	}
	var rows []latencyRow
	for _, x := range []struct {
		metric engine.LatencyMetric
		text   func(*engine.LatencyPoint) string
	}{{engine.WALFsync, summary.WALText}, {engine.BackendCommit, summary.CommitText}} {
		row := latencyRow{m.Host, x.metric.Words(), x.text(m.Idle), x.text(m.Staging), x.text(m.Worst), "-", limit(x.metric)}
		if row.Worst != "-" && !m.WorstAt.IsZero() {
			row.At = s.clock(m.WorstAt)
		}
		if row.Idle+row.Staging+row.Worst != "---" { // something was measured
			rows = append(rows, row)
		}
	}
	return rows
}

// maxCharts is the number of members of a cluster with charts.
const maxCharts = 9

func (v *View) buildCharts(s scale, c *clusterHistory, stagings []span) []latencyChart {
	var joined []span
	for _, x := range stagings {
		joined = addSpan(joined, x)
	}
	var stagingBars []bar
	for _, x := range joined {
		stagingBars = append(stagingBars, s.bar("s", x.from, x.to))
	}
	var charts []latencyChart
	for i, host := range slices.Sorted(maps.Keys(c.members)) {
		if i == maxCharts {
			break
		}
		var downs []bar
		for _, x := range v.spansOf([]string{host}, down) {
			downs = append(downs, s.bar("d", x.from, x.to))
		}
		for _, metric := range []engine.LatencyMetric{engine.WALFsync, engine.BackendCommit} {
			line := c.members[host].latency[metric]
			if len(line.points) == 0 {
				continue
			}
			limit, top := c.limitOf(host, metric), 0.0
			for _, p := range line.points {
				top = max(top, p.value)
			}
			top = 1.1 * max(top, limit)
			chart := latencyChart{
				Host: host, Metric: metric.Words(), Path: s.linePath(line.points, top), Top: termtext.FormatLatency(top),
				Per: line.per * max(1, (len(line.points)+chartPoints-1)/chartPoints), Stagings: stagingBars, Downs: downs, Ticks: s.ticks(),
			}
			if limit > 0 {
				chart.Limit, chart.LimitY = termtext.FormatLatency(limit), formatNumber(chartHeight*(1-limit/top))
			}
			charts = append(charts, chart)
		}
	}
	return charts
}

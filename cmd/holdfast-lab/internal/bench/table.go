package bench

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/metrics"
)

// table has the runs under the same conditions, with a column for each way.
type table struct {
	conditions
	columns []column
}

type column struct {
	way        way
	results    []run // complete runs
	failed     []run // runs that failed after their staging began
	unmeasured []run // runs that failed before
}

func (c column) hasRuns() bool { return len(c.results)+len(c.failed)+len(c.unmeasured) > 0 }

// makeTables makes a table for each of the conditions.
func makeTables(runs []run) []*table {
	var all []*table
	for _, r := range runs {
		i := slices.IndexFunc(all, func(t *table) bool { return t.conditions == r.conditions })
		if i < 0 {
			i = len(all)
			all = append(all, &table{conditions: r.conditions})
			for _, w := range allWays() {
				all[i].columns = append(all[i].columns, column{way: w})
			}
		}
		for j := range all[i].columns {
			if c := &all[i].columns[j]; c.way.letter == r.Way {
				c.addRun(r)
			}
		}
	}
	for _, t := range all {
		t.columns = slices.DeleteFunc(t.columns, func(c column) bool { return !c.hasRuns() })
	}
	return all
}

func (c *column) addRun(r run) {
	switch {
	case r.Unmeasured:
		c.unmeasured = append(c.unmeasured, r)
	case r.Failed != "":
		c.failed = append(c.failed, r)
	default:
		c.results = append(c.results, r)
	}
}

func (t *table) columnOf(letter string) column {
	for _, c := range t.columns {
		if c.way.letter == letter {
			return c
		}
	}
	return column{way: wayOf(letter)}
}

func printTables(to io.Writer, runs []run) error {
	tables := makeTables(runs)
	for _, t := range tables {
		fmt.Fprintf(to, "\nAn update of %d MiB of one of three etcd members (the leader), disks of %s.\n", t.Bytes>>20, t.conditions)
		fmt.Fprint(to, "Medians, and in brackets the best and the worst run. The latencies of etcd belong to the member that is staged. The other\nmembers show the latency of the machine itself; in (r) and (a) all latencies belong to them.\n\n")
		if err := t.print(to); err != nil {
			return err
		}
	}
	fmt.Fprintln(to)
	for _, line := range compareWithGoals(tables) {
		fmt.Fprintln(to, line)
	}
	return nil
}

func (t *table) print(to io.Writer) error {
	w := tabwriter.NewWriter(to, 2, 0, 2, ' ', 0)
	heads, measured, failed := []string{""}, []string{"runs"}, []string{"runs, failed (why)"}
	for _, c := range t.columns {
		heads = append(heads, "("+c.way.letter+") "+c.way.title)
		measured = append(measured, fmt.Sprint(len(c.results)+len(c.failed)))
		failed = append(failed, c.describeFailures())
	}
	for _, row := range slices.Concat([][]string{heads, measured, failed}, t.figureRows()) {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range t.columns {
		for _, r := range slices.Concat(c.failed, c.unmeasured) {
			fmt.Fprintf(to, "%s failed: %s\n", r.key, r.Failed)
		}
		for _, r := range slices.Concat(c.results, c.failed) {
			if r.Repeated != "" {
				fmt.Fprintf(to, "%s was repeated, because its hosts were not ready: %s\n", r.key, r.Repeated)
			}
		}
	}
	return nil
}

func (c column) describeFailures() string {
	var kinds []string
	for _, r := range c.failed {
		if kind := string(r.Failure); !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(c.unmeasured) > 0 {
		kinds = append(kinds, fmt.Sprintf("%d more did not begin", len(c.unmeasured)))
	}
	text := fmt.Sprint(len(c.failed))
	if len(kinds) > 0 {
		text += " (" + strings.Join(kinds, ", ") + ")"
	}
	return text
}

func (t *table) figureRows() [][]string {
	var rows [][]string
	for _, f := range listFigures() {
		row := []string{f.name}
		for _, c := range t.columns {
			row = append(row, f.describe(c))
		}
		rows = append(rows, row)
	}
	return rows
}

// figure is a row of the table.
type figure struct {
	name   string
	value  func(run) float64 // times in nanoseconds; NaN: not known
	format func(float64) string
	rising bool // higher values are better
}

func (f figure) describe(c column) string {
	best, median, worst := c.valuesOf(f.value)
	if math.IsNaN(median) {
		return "-"
	}
	if f.rising {
		best, worst = worst, best
	}
	text := f.format(median)
	if b, w := f.format(best), f.format(worst); b != text || w != text {
		text += " (" + b + ", " + w + ")"
	}
	return text
}

func listFigures() []figure {
	var all []figure
	number := func(n float64) string { return fmt.Sprintf("%.0f", n) }
	addTime := func(name string, of func(run) engine.Duration) {
		all = append(all, figure{name: name, value: func(r run) float64 { return float64(of(r)) }, format: formatNanoseconds})
	}
	for kind, name := range latencyNames {
		all = append(all, latencyFigures(kind, name)...)
	}
	all = append(all, figure{name: "p99 in relation to the limit", value: func(r run) float64 { return r.latencyExcess().value }, format: func(n float64) string { return fmt.Sprintf("%.2f", n) }})
	addTime("writer p99, idle", func(r run) engine.Duration { return r.Clients.Idle })
	addTime("writer p99, staging", func(r run) engine.Duration { return r.Clients.Staging })
	all = append(all,
		figure{name: "failed writes, staging", value: func(r run) float64 { return float64(r.Clients.StagingFailed) }, format: number},
		figure{name: "failed writes, whole update", value: func(r run) float64 { return float64(r.Clients.Failed) }, format: number})
	addTime("longest time without a commit, staging", func(r run) engine.Duration { return r.Clients.StagingGap })
	addTime("longest time without a commit, whole update", func(r run) engine.Duration { return r.Clients.Gap })
	all = append(all, figure{name: "leaders lost", value: func(r run) float64 { return float64(r.LeadersLost) }, format: number})
	addTime("time without the member", func(r run) engine.Duration { return r.Away })
	addTime("time to stage", func(r run) engine.Duration { return r.Staged })
	addTime("slowed", func(r run) engine.Duration { return r.Slowed })
	addTime("paused", func(r run) engine.Duration { return r.Paused })
	return append(all,
		figure{name: "processors idle, before", value: func(r run) float64 { return 1 - r.Machine.Before }, format: formatShare, rising: true},
		figure{name: "processors idle, staging", value: func(r run) float64 { return 1 - r.Machine.Taken }, format: formatShare, rising: true},
		figure{name: "something waited for a processor", value: func(r run) float64 { return cmp.Or(r.Machine.Waiting, math.NaN()) }, format: formatShare},
		figure{name: "disk: share of its bandwidth", value: func(r run) float64 { return r.Machine.DiskBytes }, format: formatShare},
		figure{name: "disk: share of its IOPS", value: func(r run) float64 { return r.Machine.DiskOps }, format: formatShare})
}

func latencyFigures(kind int, name string) []figure {
	of := func(members func(run) []member, estimate func(member, int) metrics.Estimate) func(run) float64 {
		return func(r run) float64 {
			e := highestEstimate(members(r), kind, estimate)
			if e.Observed == 0 {
				return math.NaN()
			}
			return float64(e.Value)
		}
	}
	bound := func(upper bool) func(run) float64 {
		return func(r run) float64 {
			e := highestEstimate(r.shownMembers(), kind, member.stagingP99)
			switch {
			case e.Observed == 0:
				return math.NaN()
			case upper:
				return float64(upperBound(e))
			}
			return float64(e.Low)
		}
	}
	all := []figure{
		{name: name + " p99, idle", value: of(run.shownMembers, member.idleP99), format: formatNanoseconds},
		{name: name + " p50, staging", value: of(run.shownMembers, member.stagingP50), format: formatNanoseconds},
		{name: name + " p99, staging", value: of(run.shownMembers, member.stagingP99), format: formatNanoseconds},
		{name: "  its bucket: above", value: bound(false), format: formatNanoseconds},
		{name: "  its bucket: up to", value: bound(true), format: formatNanoseconds},
	}
	for _, within := range boundsAround(kind) {
		all = append(all, figure{name: "  share within " + formatTime(within), value: func(r run) float64 { return r.shareWithin(kind, within) }, format: formatShare, rising: true})
	}
	return append(all,
		figure{name: name + " max, in the bucket up to", value: func(r run) float64 {
			return float64(upperBound(highestEstimate(r.shownMembers(), kind, member.stagingMax)))
		}, format: formatNanoseconds},
		figure{name: name + " p99, worst 10 s", value: func(r run) float64 {
			worst := 0.0
			for _, m := range r.shownMembers() {
				worst = max(worst, float64(m.Worst[kind]))
			}
			return worst
		}, format: formatNanoseconds},
		figure{name: name + " p99, other members then", value: of(run.unstagedMembers, member.stagingP99), format: formatNanoseconds})
}

// valuesOf returns NaN if no complete run has a value.
func (c column) valuesOf(value func(run) float64) (lowest, median, highest float64) {
	var all []float64
	for _, r := range c.results {
		if v := value(r); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slices.Sort(all)
	return all[0], (all[(len(all)-1)/2] + all[len(all)/2]) / 2, all[len(all)-1]
}

func formatNanoseconds(n float64) string {
	if n >= math.MaxInt64 {
		return formatTime(math.MaxInt64)
	}
	return formatTime(time.Duration(n))
}

func formatShare(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*share)
}

// formatTime prints a duration with about three digits, and an infinite one as the last bucket of
// etcd.
func formatTime(d time.Duration) string {
	switch {
	case d == math.MaxInt64:
		return "> 8.2 s"
	case d == 0:
		return "0"
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.1f ms", d.Seconds()*1000)
}

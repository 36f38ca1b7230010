package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// table collects the results of each way.
type table struct{ columns []column }

type column struct {
	way     Way
	results []result
}

func (t *table) addResult(w Way, r result) {
	for i := range t.columns {
		if t.columns[i].way.Letter == w.Letter {
			t.columns[i].results = append(t.columns[i].results, r)
			return
		}
	}
	t.columns = append(t.columns, column{w, []result{r}})
}

// value reads one number of a result. Times are in nanoseconds.
type value func(result) float64

func spreadValue(read func(result) latencies, metric int, quantile func(spread) time.Duration) value {
	return func(r result) float64 { return float64(quantile(read(r)[metric])) }
}

func (c column) valuesOf(v value) (median, worst float64) {
	var all []float64
	for _, r := range c.results {
		all = append(all, v(r))
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1]
}

func (t *table) printTable(to io.Writer, title string) error {
	if len(t.columns) == 0 {
		return nil
	}
	fmt.Fprintf(to, "\n%s.\nLatencies of etcd are those of the member, as p50 / p99 / max. The other members, which are not staged, show what the\nmachine itself does; in (a) all latencies are theirs.\n\n", title)
	w := tabwriter.NewWriter(to, 2, 0, 2, ' ', 0)
	heads := []string{""}
	for _, c := range t.columns {
		heads = append(heads, "("+c.way.Letter+") "+c.way.Title)
	}
	fmt.Fprintln(w, strings.Join(heads, "\t"))
	for _, row := range t.tableRows() {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, goal := range t.compareWithGoals() {
		fmt.Fprintln(to, goal)
	}
	return nil
}

func (t *table) tableRows() [][]string {
	var rows [][]string
	add := func(name string, cell func(column) string) {
		row := []string{name}
		for _, c := range t.columns {
			row = append(row, cell(c))
		}
		rows = append(rows, row)
	}
	for metric, name := range []string{"WAL fsync", "backend commit"} {
		add(name+", idle", func(c column) string { return c.spreadCell(func(r result) latencies { return r.idle }, metric) })
		add(name+", during", func(c column) string { return c.spreadCell(func(r result) latencies { return r.during }, metric) })
		add(name+", others then", func(c column) string { return c.spreadCell(func(r result) latencies { return r.others }, metric) })
		add(name+", worst 10 s", func(c column) string { return c.spreadCell(func(r result) latencies { return r.worst }, metric) })
	}
	add("p99 in relation to the limit", func(c column) string { return c.numberCell(func(r result) float64 { return r.excess }, "%.2f") })
	add("writer p99, idle", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.writerIdle }) })
	add("writer p99, during", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.writer }) })
	add("failed writes", func(c column) string {
		return c.numberCell(func(r result) float64 { return float64(r.failed) }, "%.0f")
	})
	add("longest time without a commit", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.gap }) })
	add("leaders lost", func(c column) string {
		return c.numberCell(func(r result) float64 { return float64(r.leadersLost) }, "%.0f")
	})
	add("time without the member", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.away }) })
	add("time to stage", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.staged }) })
	add("slowed", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.slowed }) })
	add("paused", func(c column) string { return c.timeCell(func(r result) time.Duration { return r.paused }) })
	add("processors taken before", func(c column) string {
		return c.numberCell(func(r result) float64 { return 100 * r.taken }, "%.0f %%")
	})
	return rows
}

func (c column) spreadCell(read func(result) latencies, metric int) string {
	var cells []string
	for _, quantile := range []func(spread) time.Duration{
		func(s spread) time.Duration { return s.p50 },
		func(s spread) time.Duration { return s.p99 },
		func(s spread) time.Duration { return s.max },
	} {
		median, worst := c.valuesOf(spreadValue(read, metric, quantile))
		cells = append(cells, withWorst(formatTime(time.Duration(median)), formatTime(time.Duration(worst))))
	}
	return strings.Join(cells, " / ")
}

func (c column) timeCell(v func(result) time.Duration) string {
	median, worst := c.valuesOf(func(r result) float64 { return float64(v(r)) })
	return withWorst(formatTime(time.Duration(median)), formatTime(time.Duration(worst)))
}

func (c column) numberCell(v value, format string) string {
	median, worst := c.valuesOf(v)
	return withWorst(fmt.Sprintf(format, median), fmt.Sprintf(format, worst))
}

func withWorst(median, worst string) string {
	if median == worst {
		return median
	}
	return median + " (" + worst + ")"
}

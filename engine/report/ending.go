package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// few is how many hosts are shown one by one; more are folded.
const few = 12

// text is the summary for people, or "" if no host was touched.
func (s *summary) text() string {
	var touched []*hostSummary
	for _, name := range sortedKeys(s.hosts) {
		if h := s.hosts[name]; h.begun || h.failure != nil {
			touched = append(touched, h)
		}
	}
	if len(touched) == 0 {
		return ""
	}
	var b strings.Builder
	if len(touched) <= few {
		oneByOne(&b, touched)
	} else {
		foldedRows(&b, touched)
		extremes(&b, touched)
	}
	fallbacks(&b, touched)
	s.etcdLines(&b)
	s.totals(&b, touched)
	return b.String()
}

func oneByOne(b *strings.Builder, hosts []*hostSummary) {
	rows := [][]string{{"  HOST", "STAGED IN", "AWAY FOR", "HELD FOR", "RESULT", "WHAT"}}
	for _, h := range hosts {
		away, held := orDash(h.away), orDash(h.heldFor)
		if !h.gone.IsZero() {
			away = "not back"
		}
		if h.stillHeld() {
			held = "still held"
		}
		rows = append(rows, []string{"  " + h.name, orDash(h.staged), away, held, h.result(), h.what()})
	}
	_ = longTable(b, withoutDashes(rows)) // a builder takes everything
}

// withoutDashes leaves out the columns in which there is nothing but dashes.
func withoutDashes(rows [][]string) [][]string {
	var out [][]string
	for range rows {
		out = append(out, nil)
	}
	for col := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(r []string) bool { return r[col] != "-" }) {
			continue
		}
		for i, r := range rows {
			out[i] = append(out[i], r[col])
		}
	}
	return out
}

// foldedRows shows many hosts by what became of them, the failed first.
func foldedRows(b *strings.Builder, hosts []*hostSummary) {
	type key struct{ result, held, did string }
	groups := map[key][]string{}
	var order []key
	for _, h := range hosts {
		k := key{result: h.result(), did: h.what()}
		if h.stillHeld() {
			k.held = ", still held"
		}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], h.name)
	}
	slices.SortStableFunc(order, func(x, y key) int { return cmp.Compare(len(groups[x]), len(groups[y])) })
	rows := [][]string{{"  HOSTS", "RESULT", "WHAT"}}
	for _, k := range order {
		rows = append(rows, []string{"  " + folded(groups[k]), k.result + k.held, k.did})
	}
	_ = longTable(b, rows) // a builder takes everything
}

// extremes shows of many hosts the median and the slowest.
func extremes(b *strings.Builder, hosts []*hostSummary) {
	for _, what := range []struct {
		name string
		of   func(*hostSummary) engine.Duration
	}{
		{"staged in", func(h *hostSummary) engine.Duration { return h.staged }},
		{"away for", func(h *hostSummary) engine.Duration { return h.away }},
		{"held for", func(h *hostSummary) engine.Duration { return h.heldFor }},
	} {
		with := slices.DeleteFunc(slices.Clone(hosts), func(h *hostSummary) bool { return what.of(h) <= 0 })
		if len(with) == 0 {
			continue
		}
		slices.SortStableFunc(with, func(x, y *hostSummary) int { return cmp.Compare(what.of(x), what.of(y)) })
		slowest := with[len(with)-1]
		fmt.Fprintf(b, "  %s: %s, median %s, longest %s (%s)\n", what.name, count(len(with), "host", "hosts"),
			brief(what.of(with[(len(with)-1)/2])), brief(what.of(slowest)), slowest.name)
	}
}

// fallbacks names the hosts that were to be rebooted because an action failed,
// with what became of it.
func fallbacks(b *strings.Builder, hosts []*hostSummary) {
	var order []string
	fell := map[string][]string{}
	for _, h := range hosts {
		if h.fell == nil {
			continue
		}
		why := h.fell.Step + ": " + gist(*h.fell)
		if fell[why] == nil {
			order = append(order, why)
		}
		fell[why] = append(fell[why], h.name)
	}
	for _, why := range order {
		fmt.Fprintf(b, "  an action failed, so a reboot was due: %s: %s\n", folded(fell[why]), why)
	}
}

func (s *summary) etcdLines(b *strings.Builder) {
	for _, name := range sortedKeys(s.clusters) {
		c := s.clusters[name]
		if c.samples+c.unknown == 0 { // it was not to be disrupted
			continue
		}
		if c.samples == 0 {
			fmt.Fprintf(b, "  etcd %s: its health is not known: %s, none answered\n", name, count(c.unknown, "sample", "samples"))
			continue
		}
		fmt.Fprintf(b, "  etcd %s: %d of %d voters healthy at the least (quorum %d, %s", name, c.least, c.voters, c.quorum, count(c.samples, "sample", "samples"))
		if c.unknown > 0 {
			fmt.Fprintf(b, ", %d more unanswered", c.unknown)
		}
		if w := s.etcd[name]; w != nil && len(w.took) > 0 {
			fmt.Fprintf(b, "; taken down: %s", strings.Join(textutil.FoldNames(w.took), ", "))
		}
		b.WriteString(")")
		if c.slowest > 0 {
			fmt.Fprintf(b, "; slowest WAL fsync p99 %s on %s", milliseconds(c.slowest), c.where)
		}
		b.WriteString("\n")
	}
}

// milliseconds is a latency in seconds as people compare it.
func milliseconds(seconds float64) string {
	if ms := seconds * 1000; ms < 10 {
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", seconds*1000)
}

func (s *summary) totals(b *strings.Builder, touched []*hostSummary) {
	updated, quiet, held := 0, 0, 0
	for _, h := range touched {
		if h.updated {
			updated++
			if h.quiet() {
				quiet++
			}
		}
		if h.stillHeld() {
			held++
		}
	}
	fmt.Fprintf(b, "  in all: %s touched, %d updated", count(len(touched), "host", "hosts"), updated)
	if quiet > 0 {
		fmt.Fprintf(b, " (%d without disruption)", quiet)
	}
	if held > 0 {
		fmt.Fprintf(b, ", %d still held", held)
	}
	fmt.Fprintf(b, ", in %s\n", brief(between(s.began, s.now)))
}

func orDash(d engine.Duration) string {
	if d <= 0 {
		return "-"
	}
	return brief(d)
}

package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// These goals are about the time for which the cluster lacks the member that is
// updated.
const (
	awaySlack   = 2 * time.Second // in addition to a bare reboot
	naiveFactor = 5               // a naive update must take the member away at least this many times as long as a governed one
)

// verdict says whether a goal was kept. Of several verdicts the worst counts, so
// the constants are in order from best to worst.
type verdict int

const (
	kept verdict = iota
	undecided
	missed
)

func (v verdict) String() string {
	switch v {
	case kept:
		return "kept"
	case missed:
		return "missed"
	case undecided:
	}
	return "not decided"
}

// goal is a goal for governed updates. compare judges the runs in column c by the
// goal. ok is false if the goal needs runs of another way (bare reboot or naive)
// and t has no complete run of that way.
type goal struct {
	title   string
	compare func(t *table, c column) (v verdict, text string, ok bool)
}

func listGoals() []goal {
	return []goal{
		{fmt.Sprintf("p99 of WAL fsync at most %s and of backend commit at most %s, or %g times the idle p99 if that is more", formatTime(limitOf(walFsync)), formatTime(limitOf(backendCommit)), engine.IdleFactor), compareLatency},
		{"no leader lost and no write failed", compareHarm},
		{"without the member at most 2 s longer than in a bare reboot", compareBare},
		{"without the member for at most a fifth of the time of a naive update", compareNaive},
	}
}

// compareWithGoals compares each way of governed updates with each goal. A line has
// one verdict for all conditions.
func compareWithGoals(tables []*table) (lines []string) {
	for _, w := range allWays() {
		if !w.governed || !slices.ContainsFunc(tables, func(t *table) bool { return t.columnOf(w.letter).hasRuns() }) {
			continue
		}
		for _, g := range listGoals() {
			verdict, texts := kept, []string(nil)
			for _, t := range tables {
				v, text, ok := g.compareColumn(t, t.columnOf(w.letter))
				if !ok {
					continue
				}
				if len(tables) > 1 {
					text = t.conditions.String() + ": " + text
				}
				verdict, texts = max(verdict, v), append(texts, text)
			}
			if len(texts) > 0 {
				lines = append(lines, fmt.Sprintf("(%s) %s: %s: %s", w.letter, verdict, g.title, strings.Join(texts, "; ")))
			}
		}
	}
	return lines
}

// compareColumn judges a column by the goal. A failed run makes the verdict missed.
// But if other runs completed and compare has nothing to compare them with, ok is
// false.
func (g goal) compareColumn(t *table, c column) (v verdict, text string, ok bool) {
	failed := len(c.failed)
	if len(c.results) == 0 {
		if failed > 0 {
			return missed, fmt.Sprintf("%d of %d runs failed", failed, failed), true
		}
		return undecided, "no run was measured", true
	}
	v, text, ok = g.compare(t, c)
	if ok && failed > 0 {
		v, text = missed, fmt.Sprintf("%d of %d runs failed; of the others: %s", failed, failed+len(c.results), text)
	}
	return v, text, ok
}

func compareLatency(_ *table, c column) (v verdict, text string, ok bool) {
	for _, r := range c.results {
		v = max(v, r.latencyExcess().verdict())
	}
	best, median, worst := c.valuesOf(func(r run) float64 { return r.latencyExcess().value })
	_, _, others := c.valuesOf(func(r run) float64 { return highestExcess(r.unstagedMembers()).value })
	least, _, _ := c.valuesOf(func(r run) float64 { return r.latencyExcess().least })
	_, _, most := c.valuesOf(func(r run) float64 { return r.latencyExcess().most })
	text = fmt.Sprintf("median %.2f of the limit, best run %.2f, worst run %.2f; the histogram buckets allow %.2f to %.2f%s", median, best, worst, least, most, describeOthers(worst, others))
	if v == undecided {
		text = "the histogram buckets are too wide to decide: " + text
	}
	return v, text, true
}

func compareHarm(_ *table, c column) (v verdict, text string, ok bool) {
	_, _, lost := c.valuesOf(func(r run) float64 { return float64(r.LeadersLost) })
	_, _, failed := c.valuesOf(func(r run) float64 { return float64(r.Clients.Failed) })
	return keptIf(lost+failed == 0), fmt.Sprintf("at worst %.0f leaders lost and %.0f writes failed", lost, failed), true
}

func compareBare(t *table, c column) (v verdict, text string, ok bool) {
	return compareAway(t.columnOf("r"), c, "bare", func(away, bare float64) bool { return away <= bare+float64(awaySlack) })
}

func compareNaive(t *table, c column) (v verdict, text string, ok bool) {
	return compareAway(t.columnOf("a"), c, "naive", func(away, naive float64) bool { return naive >= naiveFactor*away })
}

func compareAway(with, c column, name string, isKept func(away, with float64) bool) (v verdict, text string, ok bool) {
	if len(with.results) == 0 {
		return kept, "", false
	}
	_, away, _ := c.valuesOf(awayTime)
	_, other, _ := with.valuesOf(awayTime)
	return keptIf(isKept(away, other)), fmt.Sprintf("%s, %s %s", formatNanoseconds(away), name, formatNanoseconds(other)), true
}

func keptIf(isKept bool) verdict {
	if isKept {
		return kept
	}
	return missed
}

func awayTime(r run) float64 { return float64(r.Away) }

// describeOthers explains an excess by the load of the machine, if members that
// were not staged exceeded the limit, too.
func describeOthers(worst, others float64) string {
	if worst <= 1 || others <= 1 {
		return ""
	}
	return fmt.Sprintf(" (members that were not staged reached up to %.2f of the limit: the machine alone caused that much)", others)
}

package bench

import (
	"fmt"
	"time"

	"holdfast/engine"
)

// These are the goals for the time in which the cluster lacks the member.
const (
	awaySlack   = 2 * time.Second // in addition to a bare reboot
	naiveFactor = 5               // how many times as long a naive update must take
)

func (t *table) compareWithGoals() (lines []string) {
	for _, c := range t.columns {
		if !c.way.governed {
			continue
		}
		add := func(kept bool, format string, args ...any) {
			verdict := "kept:  "
			if !kept {
				verdict = "missed:"
			}
			lines = append(lines, fmt.Sprintf("(%s) %s ", c.way.Letter, verdict)+fmt.Sprintf(format, args...))
		}
		excess, worst := c.valuesOf(func(r result) float64 { return r.excess })
		_, othersWorst := c.valuesOf(func(r result) float64 { return r.othersExcess })
		limits := defaultLimits()
		add(worst <= 1, "p99 within %s and %s, or %g times idle: %.2f of the limit, at worst %.2f%s",
			formatTime(time.Duration(limits.WALFsyncP99)), formatTime(time.Duration(limits.BackendCommitP99)), engine.IdleFactor,
			excess, worst, shareOfMachine(worst, othersWorst))
		_, lost := c.valuesOf(func(r result) float64 { return float64(r.leadersLost) })
		_, failed := c.valuesOf(func(r result) float64 { return float64(r.failed) })
		add(lost+failed == 0, "no leader lost and no write failed: at worst %.0f and %.0f", lost, failed)
		away, _ := c.valuesOf(awayTime)
		if bare, ok := t.findColumn("r"); ok {
			expected, _ := bare.valuesOf(awayTime)
			add(away <= expected+float64(awaySlack), "without the member at most 2 s longer than in a bare reboot: %s, bare %s", formatTime(time.Duration(away)), formatTime(time.Duration(expected)))
		}
		if naive, ok := t.findColumn("a"); ok {
			longest, _ := naive.valuesOf(awayTime)
			add(longest >= naiveFactor*away, "without the member for a fifth of the naive time: %s, naive %s", formatTime(time.Duration(away)), formatTime(time.Duration(longest)))
		}
	}
	return lines
}

func awayTime(r result) float64 { return float64(r.away) }

// shareOfMachine explains an excess by the load of the machine, if members that were not staged
// exceeded the limit, too.
func shareOfMachine(worst, others float64) string {
	if worst <= 1 || others <= 1 {
		return ""
	}
	return fmt.Sprintf("; members that were not staged had up to %.2f: so much the machine did by itself", others)
}

func (t *table) findColumn(letter string) (column, bool) {
	for _, c := range t.columns {
		if c.way.Letter == letter {
			return c, true
		}
	}
	return column{}, false
}

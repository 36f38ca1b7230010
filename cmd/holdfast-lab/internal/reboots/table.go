package reboots

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"holdfast/engine"
)

// PrintTable prints the results: a row for each way and role, with the median of the runs, and in brackets the best and the
// worst. Hosts without a member have a table of their own.
func PrintTable(to io.Writer, results Results) error {
	all, err := results.read()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(to, 2, 0, 2, ' ', 0)
	if groups := groupRuns(all, memberRoles()); len(groups) > 0 {
		fmt.Fprintln(w, "\nreboot\tfirmware\thost of\truns\tmember away\tof this in the reboot\tfailed writes\tlongest time without a commit\tfewest voters\tleader changes\thost answers after\thost healthy after\tload")
		for _, g := range groups {
			fmt.Fprintln(w, g.formatRow())
		}
	}
	if groups := groupRuns(all, []role{virtual}); len(groups) > 0 {
		fmt.Fprintln(w, "\nreboot in qemu\tfirmware\truns\torder takes\thost answers after\thost healthy after\tload")
		for _, g := range groups {
			fmt.Fprintln(w, g.formatVirtualRow())
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, r := range all {
		if r.Failed != "" {
			fmt.Fprintf(to, "%s failed: %s\n", r.key, r.Failed)
		}
	}
	for _, line := range compareWithGoals(all) {
		fmt.Fprintln(to, line)
	}
	return nil
}

// group has the runs of one row that did not fail.
type group []run

// groupRuns returns the groups of these roles, in their order in the table.
func groupRuns(all []run, roles []role) []group {
	var groups []group
	for _, w := range allWays() {
		for _, r := range roles {
			var firmwares []engine.Duration
			for _, one := range all {
				if !slices.Contains(firmwares, one.Firmware) {
					firmwares = append(firmwares, one.Firmware)
				}
			}
			for _, firmware := range firmwares {
				g := group(slices.DeleteFunc(slices.Clone(all), func(one run) bool {
					return one.Failed != "" || one.Way != w.letter || one.Role != r || one.Firmware != firmware
				}))
				if len(g) > 0 {
					groups = append(groups, g)
				}
			}
		}
	}
	return groups
}

func (g group) formatRow() string {
	count := func(value func(run) int) string {
		return g.describe(func(r run) float64 { return float64(value(r)) }, func(n float64) string { return fmt.Sprintf("%g", n) })
	}
	return strings.Join([]string{
		wayOf(g[0].Way).title, time.Duration(g[0].Firmware).String(), string(g[0].Role), fmt.Sprint(len(g)),
		g.describeTime(func(r run) engine.Duration { return r.Away }), g.describeTime(func(r run) engine.Duration { return r.RebootAway }), count(func(r run) int { return r.Failures }),
		g.describeTime(func(r run) engine.Duration { return r.Gap }), count(func(r run) int { return r.Voters }), count(func(r run) int { return r.LeaderChanges }),
		g.describeTime(func(r run) engine.Duration { return r.Answered }), g.describeTime(func(r run) engine.Duration { return r.Healthy }), g.describeLoad(),
	}, "\t")
}

func (g group) formatVirtualRow() string {
	return strings.Join([]string{
		wayOf(g[0].Way).title, time.Duration(g[0].Firmware).String(), fmt.Sprint(len(g)), g.describeTime(func(r run) engine.Duration { return r.Given }),
		g.describeTime(func(r run) engine.Duration { return r.Answered }), g.describeTime(func(r run) engine.Duration { return r.Healthy }), g.describeLoad(),
	}, "\t")
}

func (g group) describeTime(value func(run) engine.Duration) string {
	return g.describe(func(r run) float64 { return float64(value(r)) }, formatTime)
}

func (g group) describeLoad() string {
	return g.describe(func(r run) float64 { return r.Load }, func(n float64) string { return fmt.Sprintf("%.1f", n) })
}

// describe returns the median, and in brackets the lowest and the highest value if they differ.
func (g group) describe(value func(run) float64, format func(float64) string) string {
	var all []float64
	for _, r := range g {
		all = append(all, value(r))
	}
	slices.Sort(all)
	text := format((all[(len(all)-1)/2] + all[len(all)/2]) / 2)
	if low, high := format(all[0]), format(all[len(all)-1]); low != text || high != text {
		text += " (" + low + ", " + high + ")"
	}
	return text
}

// The goals: each run must keep them.
const (
	longestGap  = engine.Duration(350 * time.Millisecond) // if etcd runs on
	longestSoft = engine.Duration(6 * time.Second)        // from the order until the host answers
)

// compareWithGoals returns a line for each goal that runs concern.
func compareWithGoals(all []run) []string {
	var lines []string
	for _, goal := range []struct {
		name     string
		concerns func(way) bool
		keeps    func(run) bool
	}{
		{"a host answers again within 6 s of the order to soft reboot", func(w way) bool { return w.kind == engine.SoftReboot }, func(r run) bool { return r.Answered <= longestSoft }},
		{"an etcd that runs on is not away in the reboot, nor is another voter", func(w way) bool { return w.stays }, func(r run) bool {
			return r.RebootAway == 0 && (r.Role == only && r.RebootVoters == 1 || r.Role != only && r.RebootVoters == 3)
		}},
		{"no write fails if etcd runs on", func(w way) bool { return w.stays }, func(r run) bool { return r.Failures == 0 }},
		{"at most 350 ms without a commit if etcd runs on", func(w way) bool { return w.stays }, func(r run) bool { return r.Gap <= longestGap }},
	} {
		kept, runs := 0, 0
		for _, r := range all {
			if r.Failed == "" && goal.concerns(wayOf(r.Way)) {
				runs++
				if goal.keeps(r) {
					kept++
				}
			}
		}
		if runs > 0 {
			lines = append(lines, fmt.Sprintf("goal: %s: kept by %d of %d runs", goal.name, kept, runs))
		}
	}
	return lines
}

// formatTime prints a duration in nanoseconds with about three digits.
func formatTime(n float64) string {
	switch d := time.Duration(n); {
	case d == 0:
		return "0"
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	default:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
	}
}

package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

func countOutcomes(trials []*trial) string {
	failed, skipped := 0, 0
	for _, t := range trials {
		switch {
		case t.failed:
			failed++
		case t.skipped != "":
			skipped++
		}
	}
	text := fmt.Sprintf("%d scenarios, %d failed", len(trials), failed)
	if skipped > 0 {
		text += fmt.Sprintf(", %d skipped", skipped)
	}
	return text
}

func failedNames(trials []*trial) []string {
	var names []string
	for _, t := range trials {
		if t.failed {
			names = append(names, t.name)
		}
	}
	return names
}

// formatTimes returns a table of the scenarios, the longest first.
func formatTimes(trials []*trial) string {
	if len(trials) < 2 {
		return ""
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\nSCENARIO\tSECONDS\tUNTIL HOSTS ARE UP\tLAB\tOUTCOME")
	var took, hosts time.Duration
	for _, t := range slices.SortedStableFunc(slices.Values(trials), func(a, b *trial) int { return cmp.Compare(b.took, a.took) }) {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%s\t%s\n", t.name, t.took.Seconds(), t.hosts.Seconds(), t.lab, t.verdictWord())
		took, hosts = took+t.took, hosts+t.hosts
	}
	fmt.Fprintf(w, "together\t%.0f\t%.0f\n", took.Seconds(), hosts.Seconds())
	_ = w.Flush() // a strings.Builder returns no errors
	return b.String() + "\n"
}

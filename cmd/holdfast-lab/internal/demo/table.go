package demo

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"holdfast/cmd/holdfast-lab/internal/probe"
)

// writeTable expects in bare the time for which each host was away in a reboot without an update.
func writeTable(w io.Writer, r probe.Report, bare map[string]time.Duration) {
	fmt.Fprintf(w, "\nEffects on a client that writes a key every 50 ms, in %.0f s:\n\n", r.Took.Seconds())
	t := tabwriter.NewWriter(w, 2, 0, 3, ' ', 0)
	row := func(name string, value any) { fmt.Fprintf(t, "  %s\t%v\n", name, value) }
	row("writes", r.Writes)
	row("failed writes", r.Failed)
	row("latency p50 / p99 / max", fmt.Sprintf("%s / %s / %s", formatMillis(r.P50), formatMillis(r.P99), formatMillis(r.Max)))
	row("longest time without a commit", fmt.Sprintf("%s (promised: under %s)", formatMillis(r.Gap), maxGap))
	row("fewest voters at any moment", fmt.Sprintf("%d of %d (quorum %d)", r.MinVoters, len(r.Members), r.Quorum))
	row("changes of leader", r.LeaderChanges)
	for _, m := range r.Members {
		row(m.Name+" away", fmt.Sprintf("%s (bare reboot: %s)", formatSeconds(m.Longest()), formatSeconds(bare[m.Name])))
	}
	_ = t.Flush() // an error of w is ignored: the exit status still tells the result
	for _, e := range r.Errors {
		fmt.Fprintf(w, "  a write failed: %s\n", e)
	}
}

func formatMillis(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d)/1e6) }

func formatSeconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

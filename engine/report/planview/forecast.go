package planview

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// forecastTime is the format of a moment of a forecast, which may be days ahead.
const forecastTime = "Mon 2006-01-02 15:04 MST"

// forecastText tells how long the work takes, and which batches the run does not
// come to.
func forecastText(f *engine.Forecast) string {
	switch {
	case f == nil:
		return ""
	case !f.Known:
		return fmt.Sprintf("Forecast: none, because this bastion has not recorded yet how long %s %s.\n",
			strings.Join(foldSome(f.Without), ", "), takes(len(f.Without)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Forecast: %s, until %s", formatMinutes(f.Takes), f.Ends.UTC().Format(forecastTime))
	if f.Staging > 0 && len(f.Batches) > 0 {
		fmt.Fprintf(&b, " (staging: %s)", formatMinutes(f.Staging))
	}
	b.WriteString(", if it takes as long as in earlier runs.\n")
	for i := 0; i < len(f.Batches); {
		end := i + 1
		for end < len(f.Batches) && f.Batches[end].MissesWindow == f.Batches[i].MissesWindow && f.Batches[end].Opens.Equal(f.Batches[i].Opens) {
			end++
		}
		if f.Batches[i].MissesWindow {
			writeMissed(&b, i+1, end, f.Batches[i])
		}
		i = end
	}
	if len(f.Without) > 0 {
		fmt.Fprintf(&b, "  The times of other hosts of the pool count for %s.\n", strings.Join(foldSome(f.Without), ", "))
	}
	return b.String()
}

func writeMissed(b *strings.Builder, first, last int, batch engine.BatchForecast) {
	which := fmt.Sprintf("Batches %d to %d do not", first, last)
	if first == last {
		which = fmt.Sprintf("Batch %d does not", first)
	}
	opens := "no window is long enough"
	if !batch.Opens.IsZero() {
		opens = "it opens again on " + batch.Opens.UTC().Format(forecastTime)
	}
	fmt.Fprintf(b, "  %s fit into the maintenance window; %s.\n", which, opens)
}

func takes(hosts int) string {
	if hosts == 1 {
		return "takes"
	}
	return "take"
}

// formatMinutes rounds to seconds below a minute, and else to minutes.
func formatMinutes(d engine.Duration) string {
	const second, minute = engine.Duration(1e9), engine.Duration(60e9)
	if d < minute {
		return ((d + second - 1) / second * second).Trimmed()
	}
	return ((d + minute/2) / minute * minute).Trimmed()
}

func foldSome(hosts []string) []string {
	folded := textutil.FoldNames(hosts)
	return textutil.AndMore(folded[:min(len(folded), 5)], len(folded))
}

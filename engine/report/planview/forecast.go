package planview

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// forecastTime is the format of a moment of a forecast, which may be days ahead.
const forecastTime = "Mon 2006-01-02 15:04 MST"

func forecastText(f *engine.Forecast) string {
	if f == nil {
		return ""
	}
	return "Forecast: " + strings.Join(ForecastLines(*f), "\n  ") + "\n"
}

// WriteAllPlays writes the forecast of all plays of a playbook.
func WriteAllPlays(w io.Writer, f engine.Forecast, plays int) error {
	_, err := fmt.Fprintf(w, "\nForecast of all %d plays: %s\n", plays, strings.Join(ForecastLines(f), "\n  "))
	return err
}

// ForecastLines tells how long the work takes, and which batches the run does not
// come to.
func ForecastLines(f engine.Forecast) []string {
	if !f.Known && len(f.Without) == 0 {
		return []string{fmt.Sprintf("none, because services of %s restart first, and the run plans the rest after that.", strings.Join(foldSome(f.Replanned), ", "))}
	}
	if !f.Known {
		return []string{fmt.Sprintf("none, because this bastion has not recorded yet how long %s %s.", strings.Join(foldSome(f.Without), ", "), takes(len(f.Without)))}
	}
	first := fmt.Sprintf("%s, until %s", formatMinutes(f.Takes), f.Ends.UTC().Format(forecastTime))
	if f.Staging > 0 && len(f.Batches) > 0 {
		first += fmt.Sprintf(" (staging: %s)", formatMinutes(f.Staging))
	}
	lines := []string{first + ", if it takes as long as in earlier runs."}
	for i := 0; i < len(f.Batches); {
		end := i + 1
		for end < len(f.Batches) && f.Batches[end].MissesWindow == f.Batches[i].MissesWindow && f.Batches[end].Opens.Equal(f.Batches[i].Opens) {
			end++
		}
		if f.Batches[i].MissesWindow {
			lines = append(lines, missedText(i+1, end, f.Batches[i]))
		}
		i = end
	}
	if len(f.Without) > 0 {
		lines = append(lines, fmt.Sprintf("The times of other hosts of the pool count for %s.", strings.Join(foldSome(f.Without), ", ")))
	}
	return lines
}

func missedText(first, last int, batch engine.BatchForecast) string {
	which := fmt.Sprintf("Batches %d to %d do not", first, last)
	if first == last {
		which = fmt.Sprintf("Batch %d does not", first)
	}
	opens := "no window is long enough"
	if !batch.Opens.IsZero() {
		opens = "it opens again on " + batch.Opens.UTC().Format(forecastTime)
	}
	return fmt.Sprintf("%s fit into the maintenance window; %s.", which, opens)
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

package planview

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
)

// TestForecastText checks what a person reads about the end of a roll-out.
func TestForecastText(t *testing.T) {
	at := time.Date(2026, 11, 28, 0, 42, 0, 0, time.UTC)
	missed := engine.BatchForecast{Begins: at, MissesWindow: true, Opens: at.Add(time.Hour)}
	minute := engine.Duration(time.Minute)
	for _, c := range []struct {
		f    *engine.Forecast
		want string
	}{
		{nil, ""},
		{&engine.Forecast{Without: []string{"w-1", "w-2"}}, "Forecast: none, because this bastion has not recorded yet how long w-[1-2] take.\n"},
		{&engine.Forecast{Known: true, Takes: 42*minute + 10, Ends: at, Staging: 8 * minute, Without: []string{"w-1"}, Batches: []engine.BatchForecast{
			{Begins: at, Ends: at}, missed, missed, {Begins: at, MissesWindow: true},
		}}, `Forecast: 42m, until Sat 2026-11-28 00:42 UTC (staging: 8m), if it takes as long as in earlier runs.
  Batches 2 to 3 do not fit into the maintenance window; it opens again on Sat 2026-11-28 01:42 UTC.
  Batch 4 does not fit into the maintenance window; no window is long enough.
  The times of other hosts of the pool count for w-1.
`},
		{&engine.Forecast{Known: true, Takes: minute / 50, Ends: at}, "Forecast: 2s, until Sat 2026-11-28 00:42 UTC, if it takes as long as in earlier runs.\n"},
	} {
		if got := forecastText(c.f); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}

// TestForecastOfAllPlays checks the line below the last play of a playbook.
func TestForecastOfAllPlays(t *testing.T) {
	at := time.Date(2026, 11, 28, 0, 42, 0, 0, time.UTC)
	var b strings.Builder
	for _, f := range []engine.Forecast{{Known: true, Takes: engine.Duration(42 * time.Minute), Ends: at}, {Without: []string{"w-1"}}} {
		if err := WriteAllPlays(&b, f, 3); err != nil {
			t.Fatal(err)
		}
	}
	want := "\nForecast of all 3 plays: 42m, until Sat 2026-11-28 00:42 UTC, if it takes as long as in earlier runs.\n\nForecast of all 3 plays: none, because this bastion has not recorded yet how long w-1 takes.\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

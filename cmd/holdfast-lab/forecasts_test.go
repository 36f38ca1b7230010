package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// TestForecasts checks which runs are compared with their forecast, and how.
func TestForecasts(t *testing.T) {
	dir := t.TempDir()
	began := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	for run, tc := range map[string]struct {
		forecast *engine.Forecast
		took     time.Duration
		exit     engine.ExitCode
	}{
		"20261127-120000-near":    {&engine.Forecast{Known: true, Takes: engine.Duration(100 * time.Second)}, 124 * time.Second, engine.ExitOK},
		"20261127-120001-far":     {&engine.Forecast{Known: true, Takes: engine.Duration(100 * time.Second)}, 70 * time.Second, engine.ExitOK},
		"20261127-120002-failed":  {&engine.Forecast{Known: true, Takes: engine.Duration(100 * time.Second)}, 100 * time.Second, engine.ExitFailed},
		"20261127-120003-unknown": {&engine.Forecast{Without: []string{"w-1"}}, 100 * time.Second, engine.ExitOK},
		"20261127-120004-none":    {nil, 100 * time.Second, engine.ExitOK},
		"20261127-120005-plays":   {&engine.Forecast{Known: true, Takes: engine.Duration(time.Second)}, 99 * time.Second, engine.ExitOK},
	} {
		w, err := journal.Create(dir, run)
		if err != nil {
			t.Fatal(err)
		}
		again := &engine.Plan{Schema: engine.PlanSchema, Forecast: &engine.Forecast{Known: true, Takes: engine.Duration(time.Second)}}
		if tc.forecast == nil || !tc.forecast.Known {
			again = nil
		}
		if strings.HasSuffix(run, "-plays") { // the first play ends with the second
			again.Play, again.Forecast = "two", &engine.Forecast{Known: true, Takes: engine.Duration(98 * time.Second)}
		}
		events := []event.Event{
			{Type: event.RunStarted, Time: began.Add(-time.Hour), Start: &event.RunStart{Site: "lab"}},
			{Type: event.Planned, Time: began, Plan: &engine.Plan{Schema: engine.PlanSchema, Forecast: tc.forecast, Hosts: make([]engine.HostPlan, 2)}},
			{Type: event.Planned, Time: began.Add(time.Second), Plan: again},
			{Type: event.RunEnded, Time: began.Add(tc.took), End: &event.RunEnd{Exit: tc.exit}},
		}
		for _, e := range events {
			if err := w.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	cmd, out := forecastsCommand(), &bytes.Buffer{}
	cmd.SetOut(out)
	cmd.SetArgs([]string{dir})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	if want := "RUN HOSTS FORECAST TOOK DIFFERENCE 20261127-120000-near 2 1m40s 2m4s +24 % 20261127-120001-far 2 1m40s 1m10s -30 % " +
		"20261127-120005-plays 2 1s 1s +0 % 20261127-120005-plays two 0 1m38s 1m38s +0 % 3 of 4 within 25 %"; text != want {
		t.Errorf("got %s\nwant %s", text, want)
	}
}

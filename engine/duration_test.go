package engine_test

import (
	"testing"
	"time"

	"holdfast/engine"
)

func TestDurationsMayHaveDays(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "4d": 4 * day, "1d12h": 36 * time.Hour, "0.5d": 12 * time.Hour, "2d0.5h10m": 2*day + 40*time.Minute, "-3s": -3 * time.Second,
	} {
		if got, err := engine.ParseDuration(text); err != nil || got != engine.Duration(want) {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "3", "4 d", "4d3", "1h1d", "-4d", "+4d", "1e3d", "Infd", "4d-2h", "4dd", "106752d", "106751d24h", "999999999999999999999d"} {
		if got, err := engine.ParseDuration(text); err == nil {
			t.Errorf("%q is %s, want an error", text, got)
		}
	}
}

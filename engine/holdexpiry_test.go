package engine_test

import (
	"testing"
	"time"

	"holdfast/engine"
)

// TestClockTolerance checks that a hold counts as expired only if the clocks of host and bastion agree about it within two
// minutes: with a larger tolerance, a host whose clock is ahead would be taken from a run that lives.
func TestClockTolerance(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]engine.Expiry{
		0:                 engine.HoldExpired,
		119 * time.Second: engine.HoldExpired,
		121 * time.Second: engine.ClocksDisagree,
		10 * time.Minute:  engine.ClocksDisagree,
		24 * time.Hour:    engine.ClocksDisagree,
	} {
		f := engine.Facts{Hold: &engine.Hold{Kind: engine.RunHold, Expires: end}, Clock: end.Add(time.Second), GatheredAt: end.Add(time.Second - ahead)}
		if got := f.Expiry(); got != want {
			t.Errorf("the host's clock is %s ahead: %d, want %d", ahead, got, want)
		}
	}
}

package rollout_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain lets garbage be: worlds are small and short, and half of the time went to collecting them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

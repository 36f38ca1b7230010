package rollout_test

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/longtest"
)

// TestMain tries few worlds by default, and lets garbage be: worlds are small and short, and half of the time went to collecting them.
func TestMain(m *testing.M) {
	longtest.FewerChecks("40")
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

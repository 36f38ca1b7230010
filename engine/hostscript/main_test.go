package hostscript_test

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain tries few texts by default, and lets garbage be: it is short-lived.
func TestMain(m *testing.M) {
	longtest.FewerChecks("40")
	debug.SetGCPercent(800)
	os.Exit(pathtest.Run(m))
}

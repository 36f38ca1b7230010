package planner_test

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/pathtest"
)

// TestMain lets garbage be: plans of small worlds are short-lived, and a third of the time went to collecting them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(pathtest.Run(m))
}

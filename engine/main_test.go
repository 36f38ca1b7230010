package engine_test

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/pathtest"
)

// TestMain turns the garbage collector down: plans of small worlds are
// short-lived, and a third of the test time is spent on collecting them.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(pathtest.Run(m))
}

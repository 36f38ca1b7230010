package planner_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain tries few worlds by default and turns the garbage collector down:
// plans of small worlds are short-lived, and a third of the test time is spent
// on collecting them.
func TestMain(m *testing.M) {
	longtest.FewerChecks(20, 40)
	longtest.CollectRarely()
	os.Exit(pathtest.Run(m))
}

package rollout_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

// TestMain tries few worlds by default and turns the garbage collector down:
// worlds are small and short-lived, and half of the test time is spent on
// collecting them.
func TestMain(m *testing.M) {
	longtest.FewerChecks(8, 40)
	longtest.TempInMemory()
	longtest.CollectRarely()
	os.Exit(m.Run())
}

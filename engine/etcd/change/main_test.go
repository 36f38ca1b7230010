package change

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain tries few histories by default, because each one is a fleet that is simulated for days.
func TestMain(m *testing.M) {
	longtest.FewerChecks(15, 40)
	longtest.CollectRarely()
	longtest.TempInMemory()
	os.Exit(pathtest.Run(m))
}

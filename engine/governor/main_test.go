package governor_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

// TestMain tries few disks by default, because each disk is simulated for
// minutes, in steps of a millisecond.
func TestMain(m *testing.M) {
	longtest.FewerChecks(20, 40)
	longtest.CollectRarely()
	os.Exit(m.Run())
}

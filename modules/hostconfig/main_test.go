package hostconfig

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/pathtest"
)

// TestMain makes garbage collection rare, because the tests use little memory.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(pathtest.Run(m))
}

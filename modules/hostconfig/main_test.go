package hostconfig

import (
	"os"
	"runtime/debug"
	"testing"

	"holdfast/engine/pathtest"
)

// TestMain lets garbage be: plans of small hosts are short-lived.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(pathtest.Run(m))
}

package hostscript_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain lowers the number of random texts, and makes the garbage collector
// run less often: the tests end soon.
func TestMain(m *testing.M) {
	longtest.FewerChecks(20, 40)
	longtest.CollectRarely()
	longtest.TempInMemory()
	os.Exit(pathtest.Run(m))
}

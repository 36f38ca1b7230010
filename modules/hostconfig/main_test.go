package hostconfig

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain makes garbage collection rare, because the tests use little memory.
func TestMain(m *testing.M) {
	longtest.CollectRarely()
	longtest.TempInMemory()
	os.Exit(pathtest.Run(m))
}

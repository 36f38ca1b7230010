package observe_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

func TestMain(m *testing.M) {
	longtest.FewerChecks(30, 100) // each try starts a shell
	longtest.TempInMemory()
	os.Exit(pathtest.Run(m))
}

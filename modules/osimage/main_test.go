package osimage

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

func TestMain(m *testing.M) {
	longtest.TempInMemory()
	longtest.CollectRarely()
	os.Exit(pathtest.Run(m))
}

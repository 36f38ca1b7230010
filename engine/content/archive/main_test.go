package archive

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

func TestMain(m *testing.M) {
	longtest.TempInMemory()
	os.Exit(m.Run())
}

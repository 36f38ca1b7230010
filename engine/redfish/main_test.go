package redfish

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

func TestMain(m *testing.M) {
	longtest.WaitTogether()
	os.Exit(m.Run())
}

package lines_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

// TestMain turns the garbage collector down: the plans of many hosts are large and short-lived.
func TestMain(m *testing.M) {
	longtest.CollectRarely()
	os.Exit(m.Run())
}

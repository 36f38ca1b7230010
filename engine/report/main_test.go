package report_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
)

func TestMain(m *testing.M) {
	longtest.CollectRarely()
	os.Exit(m.Run())
}

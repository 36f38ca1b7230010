package etcd_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain runs more tests at once than there are processors, because most tests wait for real members of etcd.
func TestMain(m *testing.M) {
	longtest.WaitTogether()
	os.Exit(pathtest.Run(m))
}

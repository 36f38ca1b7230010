package remote_test

import (
	"os"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyVariable) != "" {
		os.Exit(runProxy(os.Args[1], os.Args[2]))
	}
	longtest.WaitTogether()
	os.Exit(pathtest.Run(m))
}

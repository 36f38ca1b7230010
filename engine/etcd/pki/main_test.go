package pki

import (
	"os"
	"testing"

	"holdfast/engine/pathtest"
)

func TestMain(m *testing.M) { os.Exit(pathtest.Run(m)) }

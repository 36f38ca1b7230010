package hoststate

import (
	"testing"

	"holdfast/modules/moduletest"
)

func TestCases(t *testing.T) { moduletest.TestCases(t, Module()) }

func TestShellcheck(t *testing.T) { moduletest.CheckScripts(t, Module()) }

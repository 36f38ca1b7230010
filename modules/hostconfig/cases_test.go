package hostconfig

import (
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

func TestCases(t *testing.T) { moduletest.TestCases(t, Module()) }

// findChanges returns the changes that the module finds on a host.
func findChanges(d engine.Desired, f engine.Facts) ([]engine.Change, error) {
	x, err := module{}.Diff(d, f)
	return x.Changes, err
}

func TestShellcheck(t *testing.T) { moduletest.CheckScripts(t, Module()) }

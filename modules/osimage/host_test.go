package osimage

import (
	"testing"

	"holdfast/engine"
	"holdfast/modules/hoststate"
	"holdfast/modules/moduletest"
)

// osHost is a fake host whose OS can be updated.
type osHost struct {
	*moduletest.Box
	cluster string // of etcd, of which the host is a member
}

func newOSHost(t *testing.T) *osHost {
	t.Helper()
	return &osHost{Box: moduletest.NewBox(t)}
}

func (b *osHost) gatherFacts(d engine.Desired) engine.Facts {
	b.T.Helper()
	return b.ReadFacts(d, hoststate.Module(), Module())
}

// steps plans an update of the OS for the present state of the host. The OS must
// need a change.
func (b *osHost) steps(d engine.Desired) engine.Steps {
	b.T.Helper()
	f := b.gatherFacts(d)
	changes, err := findChanges(d, f)
	if err != nil || len(changes) == 0 {
		b.T.Fatalf("changes %v, %v in %+v", changes, err, f)
	}
	return planSteps(moduletest.Target(d, f), changes)
}

// stage makes a plan and runs its stage step.
func (b *osHost) stage(d engine.Desired) engine.Output {
	b.T.Helper()
	steps := b.steps(d).Stage
	if len(steps) != 1 {
		b.T.Fatalf("%d stage steps", len(steps))
	}
	return b.Run(steps[0].Do.Exec.Script.String())
}

// finalize makes a plan and runs its finalize step.
func (b *osHost) finalize(d engine.Desired) engine.Output {
	b.T.Helper()
	return b.Run(moduletest.OrderOf(b.steps(d).Reboot))
}

// isReady reports whether the host has staged the desired OS with its present kernel arguments.
func (b *osHost) isReady(d engine.Desired) bool {
	b.T.Helper()
	return b.gatherFacts(d).Ready(d.OS.Digest(), kernelArgs{}.changeDigest())
}

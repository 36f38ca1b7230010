package rollout

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
)

// TestAFaultOfTheMirrorIsInThePlan: each fault is one warning, with the hosts that it concerns.
func TestAFaultOfTheMirrorIsInThePlan(t *testing.T) {
	step := func(commit string) []engine.Step {
		return []engine.Step{{Do: engine.Op{Exec: &engine.Exec{Content: &engine.Content{Commit: commit}}}}}
	}
	plan := engine.Plan{Warnings: []string{"another"}, Hosts: []engine.HostPlan{
		{Host: "w-1", Stage: step("bad")}, {Host: "w-2", Stage: step("good")}, {Host: "w-3", Stage: step("bad")}, {Host: "w-4", Stage: []engine.Step{{}}},
	}}
	asked := 0
	r := newPlanning(&Run{Ports: Ports{CheckContent: func(_ context.Context, c engine.Content) error {
		if asked++; c.Commit == "good" {
			return nil
		}
		return errors.New("no mirror; holdfast mirror --from URL makes it")
	}}})
	r.warnOfMirror(t.Context(), &plan)
	if len(plan.Warnings) != 2 || plan.Warnings[1] != "w-[1,3] cannot fetch the OS from the bastion: no mirror; holdfast mirror --from URL makes it" || asked != 2 {
		t.Errorf("asked %d times: %q", asked, plan.Warnings)
	}
}

// TestAFailedStagingNamesTheFaultOfTheMirror: a host only sees that an object is damaged, and not which mirror has it.
func TestAFailedStagingNamesTheFaultOfTheMirror(t *testing.T) {
	for _, fault := range []error{nil, errors.New("x.filez in the mirror m is damaged")} {
		synctest.Test(t, func(t *testing.T) {
			r := &Run{Ports: Ports{Hosts: failingHosts{}, Clock: wallClock{}, Sink: silentSink{}, CheckContent: func(ctx context.Context, _ engine.Content) error {
				if until, ok := ctx.Deadline(); !ok || time.Until(until) > failureCheckTime {
					t.Error("the check has no bound")
				}
				return fault
			}}}
			r.Inventory.Hosts = []engine.Host{{Name: "h"}}
			step := engine.Step{Name: "stage", Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("pull"), Content: &engine.Content{Commit: "c"}}}}
			steps := newPlayLoop(r).steps
			err := steps.runExec(t.Context(), engine.HostPlan{Host: "h"}, step, &stepHeartbeat{events: steps.emitter})
			f := new(engine.Failure)
			if !errors.As(err, &f) || !strings.Contains(f.Stderr, "checksum expected") || (fault != nil) != strings.Contains(f.Cause, "in the mirror m") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// failingHosts fail each script like a host whose pull has failed.
type failingHosts struct{}

func (f failingHosts) Connect(context.Context, engine.Host) (Conn, error) { return f, nil }

func (failingHosts) Login(context.Context, engine.Host, Script) (Reply, error) { return Reply{}, nil }

func (failingHosts) Run(context.Context, Script) (Reply, error) {
	return Reply{Code: 1, Stderr: "error: Corrupted file object; checksum expected='a' actual='b'\n"}, nil
}

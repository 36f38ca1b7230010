package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

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
	mirror := &fakeContents{incomplete: map[string]error{"bad": errors.New("no mirror; holdfast mirror --from URL makes it")}}
	r := newPlanning(&Run{Ports: Ports{Contents: mirror}})
	r.warnOfMirror(t.Context(), &plan)
	if len(plan.Warnings) != 2 || plan.Warnings[1] != "w-[1,3] cannot fetch the OS from the bastion: no mirror; holdfast mirror --from URL makes it" ||
		!slices.Equal(mirror.asked, []string{"complete bad", "complete good", "verify good"}) {
		t.Errorf("asked for %q: %q", mirror.asked, plan.Warnings)
	}

	// An OS that takes longer to read than a plan may does not hide that another one is missing. A second one is not read at all.
	synctest.Test(t, func(t *testing.T) {
		plan := engine.Plan{Hosts: []engine.HostPlan{
			{Host: "w-1", Stage: step("0123456789abcdef")}, {Host: "w-2", Stage: step("bad")}, {Host: "w-3", Stage: step("good")}, {Host: "w-4", Stage: step("tampered")},
		}}
		mirror := &fakeContents{incomplete: mirror.incomplete, large: "0123456789abcdef"}
		newPlanning(&Run{Ports: Ports{Contents: mirror}}).warnOfMirror(t.Context(), &plan)
		if !slices.Equal(plan.Warnings, []string{
			"w-2 cannot fetch the OS from the bastion: no mirror; holdfast mirror --from URL makes it",
		}) {
			t.Errorf("%q", plan.Warnings)
		}
	})
	synctest.Test(t, func(t *testing.T) { // nor does a mirror that answers too slowly look complete
		plan := engine.Plan{Hosts: []engine.HostPlan{{Host: "w-1", Stage: step("0123456789abcdef")}, {Host: "w-2", Stage: step("good")}}}
		newPlanning(&Run{Ports: Ports{Contents: &fakeContents{slow: true}}}).warnOfMirror(t.Context(), &plan)
		if want := "the mirror did not show within 10s whether 0123456789ab, good is complete; holdfast mirror checks it"; len(plan.Warnings) != 1 || plan.Warnings[0] != want {
			t.Errorf("%q", plan.Warnings)
		}
	})
}

// fakeContents are contents by commit.
type fakeContents struct {
	incomplete map[string]error // errors of commits that are not complete
	damaged    error            // of all others
	large      string           // is read until the context ends
	slow       bool             // nothing is known until the context ends
	asked      []string
}

func (f *fakeContents) CheckComplete(ctx context.Context, c engine.Content) error {
	f.asked = append(f.asked, "complete "+c.Commit)
	if f.slow {
		<-ctx.Done()
		return fmt.Errorf("read %s: %w", c.Commit, ctx.Err())
	}
	return f.incomplete[c.Commit]
}

func (f *fakeContents) VerifyContent(ctx context.Context, c engine.Content) error {
	f.asked = append(f.asked, "verify "+c.Commit)
	if c.Commit == f.large {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return fmt.Errorf("read %s: %w", c.Commit, ctx.Err())
	}
	return f.damaged
}

// TestAFailedStagingNamesTheFaultOfTheMirror: a host only sees that an object is damaged, and not which mirror has it.
func TestAFailedStagingNamesTheFaultOfTheMirror(t *testing.T) {
	for _, fault := range []error{nil, errors.New("x.filez in the mirror m is damaged")} {
		synctest.Test(t, func(t *testing.T) {
			r := &Run{Ports: Ports{Hosts: failingHosts{}, Clock: wallClock{}, Sink: silentSink{}, Contents: &fakeContents{damaged: fault}}}
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
	synctest.Test(t, func(t *testing.T) { // reading ends at some time
		r := &Run{Ports: Ports{Contents: &fakeContents{large: "c"}}}
		if err := r.findContentFault(t.Context(), engine.Step{Do: engine.Op{Exec: &engine.Exec{Content: &engine.Content{Commit: "c"}}}}); err != nil {
			t.Error(err)
		}
	})
}

// failingHosts fail each script like a host whose pull has failed.
type failingHosts struct{}

func (f failingHosts) Connect(context.Context, engine.Host) (Conn, error) { return f, nil }

func (failingHosts) Login(context.Context, engine.Host, Script) (Reply, error) { return Reply{}, nil }

func (failingHosts) Run(context.Context, Script) (Reply, error) {
	return Reply{Code: 1, Stderr: "error: Corrupted file object; checksum expected='a' actual='b'\n"}, nil
}

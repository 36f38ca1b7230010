package lines_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
)

// stepEvents returns a run that has only short steps.
func stepEvents() []event.Event {
	gate := engine.Step{Name: "gate ceph", Do: engine.Op{Gate: &engine.Gate{Command: "ceph health"}}}
	hold := engine.Step{Name: "hold", Do: engine.Op{TakeHold: &engine.TakeHold{}}}
	write := engine.Step{Name: "write", ChangesHost: true, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("x")}}}
	drain := engine.Step{Name: "drain", ChangesHost: true, Do: engine.Op{Command: &engine.Local{Command: "kubectl drain w-1"}}}
	plan := engine.Plan{
		Hosts:   []engine.HostPlan{{Host: "w-1", Pool: "worker", Sequence: []engine.Step{hold, drain, write}}},
		Batches: []engine.Batch{{Pools: []string{"worker"}, Hosts: []string{"w-1"}, Before: []engine.Step{gate}}},
	}
	events := []event.Event{
		{Type: event.HostGathered, Host: "w-2", Failure: &engine.Failure{Cause: "no route to host"}},
		{Type: event.HostsGathered, Message: "1 of 2 hosts reached"},
		{Type: event.Planned, Plan: &plan},
	}
	for _, s := range []event.Event{{Step: "gate ceph"}, {Host: "w-1", Step: "hold"}, {Host: "w-1", Step: "drain"}, {Host: "w-1", Step: "write"}} {
		for _, s.Type = range []event.Type{event.StepStarted, event.StepEnded} {
			s.Took = engine.Duration(100 * time.Millisecond)
			events = append(events, s)
		}
	}
	return events
}

// TestPlainSteps checks that a log has a line for gates, commands and changes
// of hosts, even for short ones, and names unreachable hosts. The full log has
// every step with its command or question.
func TestPlainSteps(t *testing.T) {
	for full, want := range map[bool]string{
		false: "1 of 2 hosts reached in 0s; not reached: w-2\n  gate ceph 0.1 s\n  w-1: drain 0.1 s\n  w-1: write 0.1 s\n",
		true: "1 of 2 hosts reached in 0s; not reached: w-2\n  gate ceph begins: ceph health\n  gate ceph 0.1 s\n  w-1: hold begins\n  w-1: hold 0.1 s\n" +
			"  w-1: drain begins: kubectl drain w-1\n  w-1: drain 0.1 s\n  w-1: write begins\n  w-1: write 0.1 s\n",
	} {
		var b bytes.Buffer
		view := &lines.Writer{W: &b, Short: true, Full: full}
		for _, e := range stepEvents() {
			if err := view.Emit(e); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.ReplaceAll(b.String(), "\x1b", ""); got != want {
			t.Errorf("full %t: got\n%s\nwant\n%s", full, got, want)
		}
	}
}

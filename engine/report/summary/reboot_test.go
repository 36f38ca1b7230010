package summary

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/event"
)

// TestKindOfReboot checks that the summary has the kind of a reboot if the pool allows several kinds.
func TestKindOfReboot(t *testing.T) {
	for _, c := range []struct {
		reboot *engine.Reboot
		want   string
	}{
		{nil, "do it"},
		{&engine.Reboot{Kind: engine.FullReboot, Reason: "r"}, "do it"},
		{&engine.Reboot{Kind: engine.SoftReboot, Reason: "r", Chosen: true}, "do it; soft reboot"},
		{&engine.Reboot{Kind: engine.KexecReboot, Reason: "the kernel differs", Chosen: true}, "do it; kexec reboot: the kernel differs"},
		{&engine.Reboot{Kind: engine.FullReboot, Reason: "the kernel differs", Chosen: true}, "do it; full reboot: the kernel differs"},
	} {
		h := hostSummary{due: &plannedWork{did: "do it"}}
		h.addEvent(event.Event{Type: event.StepStarted, Kind: engine.RebootStep, Reboot: c.reboot})
		h.addEvent(event.Event{Type: event.StepEnded, Kind: engine.RebootStep, Reboot: c.reboot})
		if got := h.workText(); got != c.want || strings.Count(got, "reboot") > 1 {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestResetHost checks that the summary names a host that did not come back and was reset, and not one whose reset was not sent.
func TestResetHost(t *testing.T) {
	h := hostSummary{due: &plannedWork{did: "do it"}}
	h.addEvent(event.Event{Type: event.StepStarted, Kind: engine.RebootStep, Reboot: &engine.Reboot{Kind: engine.FullReboot}})
	h.addEvent(event.Event{Type: event.Warned, Reset: true})
	if got := h.workText(); got != "do it; reset through its BMC, because it did not come back" {
		t.Errorf("%q", got)
	}
	h.addEvent(event.Event{Type: event.Warned, Reset: true, Failure: &engine.Failure{Cause: "the BMC refuses"}})
	if got := h.workText(); got != "do it" {
		t.Errorf("not sent: %q", got)
	}
}

// TestAnotherKindOfReboot checks that the summary names the reboot that a host got instead of the planned one.
func TestAnotherKindOfReboot(t *testing.T) {
	h := hostSummary{due: &plannedWork{did: "do it"}}
	h.addEvent(event.Event{Type: event.StepStarted, Kind: engine.RebootStep, Reboot: &engine.Reboot{Kind: engine.SoftReboot, Chosen: true}})
	h.addEvent(event.Event{Type: event.Warned, Reboot: &engine.Reboot{Kind: engine.FullReboot, Reason: "it lost its power", Chosen: true}})
	h.addEvent(event.Event{Type: event.Warned, Message: "the clock is behind"})
	if got := h.workText(); got != "do it; soft reboot; instead a full reboot: it lost its power" {
		t.Errorf("%q", got)
	}
}

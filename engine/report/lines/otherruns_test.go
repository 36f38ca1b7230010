package lines_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
)

// showLines returns the lines of events without their times. full adds every step.
func showLines(t *testing.T, full bool, events ...event.Event) string {
	t.Helper()
	var b strings.Builder
	view := &lines.Writer{W: &b, Short: true, Full: full}
	for _, e := range events {
		if err := view.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestMemberLines: the journal of a change of members shows the lines of that change, with the failed step and its cause, and no
// summary of a roll-out.
func TestMemberLines(t *testing.T) {
	start := event.RunStart{Site: "s", Holder: "ann@bastion", Cluster: "main", Command: event.Command{Name: "etcd members apply"}}
	stopped := engine.Verdict{Findings: engine.Findings{Stopped: true, Failures: []engine.Failure{{Cause: "etcd-2: add learner: no leader"}}}}
	for _, full := range []bool{false, true} {
		got := showLines(
			t, full,
			event.Event{Type: event.RunStarted, Run: "r", Start: &start},
			event.Event{Type: event.StepStarted, Cluster: "main", Host: "etcd-1", Step: "preflight"},
			event.Event{Type: event.StepEnded, Cluster: "main", Host: "etcd-1", Step: "preflight", Took: engine.Duration(time.Second)},
			event.Event{Type: event.StepStarted, Cluster: "main", Host: "etcd-2", Step: "add learner"},
			event.Event{Type: event.StepEnded, Cluster: "main", Host: "etcd-2", Step: "add learner", Failure: &engine.Failure{Cause: "no leader"}},
			event.Event{Type: event.Warned, Message: "the hold of etcd-2 stays"},
			event.Event{Type: event.RunEnded, Cluster: "main", End: &event.RunEnd{Exit: engine.ExitStopped, Verdict: stopped}},
		)
		const want = `run r of site s by ann@bastion: etcd members apply of etcd cluster main
preflight etcd-1 …
preflight etcd-1: done in 1s
add learner etcd-2 …
add learner etcd-2: failed: no leader
warning: the hold of etcd-2 stays
exit 6: stopped; the next run continues; etcd-2: add learner: no leader
`
		if got != want {
			t.Errorf("full %t: got\n%s\nwant\n%s", full, got, want)
		}
	}
}

// TestMaintenanceLines: the journal of a release whose undrain fails has the warning that the person saw, the progress, and the
// standard error of a host that failed. The full log has the failed step, too.
func TestMaintenanceLines(t *testing.T) {
	start := event.RunStart{Site: "s", Holder: "ann@bastion", Maintenance: engine.ReleaseHosts}
	for full, steps := range map[bool][2]string{false: {}, true: {"  worker-01: undrain begins\n", "  worker-01: undrain failed 0.1 s\n"}} {
		got := showLines(
			t, full,
			event.Event{Type: event.RunStarted, Run: "r", Start: &start},
			event.Event{Type: event.MaintenancePlanned, Maintenance: &engine.MaintenancePlan{Action: engine.ReleaseHosts}},
			event.Event{Type: event.StepStarted, Host: "worker-01", Step: "undrain"},
			event.Event{Type: event.StepProgress, Host: "worker-01", Step: "undrain", Message: "the API does not answer"},
			event.Event{Type: event.StepEnded, Host: "worker-01", Step: "undrain", Took: engine.Duration(100 * time.Millisecond), Failure: &engine.Failure{Cause: "exit status 1"}},
			event.Event{Type: event.Warned, Message: "worker-01: undrain: exit status 1; its hold ends all the same"},
			event.Event{Type: event.HostDone, Host: "worker-01", Message: "released"},
			event.Event{Type: event.HostFailed, Host: "worker-02", Failure: &engine.Failure{Cause: "release: exit status 1", Stderr: "rm: no space left"}},
			event.Event{Type: event.Interrupted, Message: "the command ends at once"},
			event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Maintenance: engine.ReleaseHosts, Updated: []string{"worker-01"}}},
		)
		want := "run r of site s by ann@bastion: release\n" + steps[0] + "  worker-01: undrain: the API does not answer\n" + steps[1] +
			"warning worker-01: undrain: exit status 1; its hold ends all the same\n  worker-01: released\n  worker-02: release: exit status 1\n" +
			"      stderr: rm: no space left\nthe command ends at once\nexit 3: release: 1 host released\n"
		if got != want {
			t.Errorf("full %t: got\n%s\nwant\n%s", full, got, want)
		}
	}
}

// TestFullLogHasFailedSteps: a step that began in the full log ends in it, too, also if it fails or is stopped.
func TestFullLogHasFailedSteps(t *testing.T) {
	var events []event.Event
	for _, kind := range []engine.FailureKind{"", engine.StoppedFailure} {
		events = append(events, event.Event{Type: event.StepStarted, Host: "w-1", Step: "write"},
			event.Event{Type: event.StepEnded, Host: "w-1", Step: "write", Took: engine.Duration(100 * time.Millisecond), Failure: &engine.Failure{Kind: kind, Cause: "why"}})
	}
	const want = "  w-1: write begins\n  w-1: write failed 0.1 s\n  w-1: write begins\n  w-1: write stopped 0.1 s\n"
	if got := showLines(t, true, events...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := showLines(t, false, events...); got != "" {
		t.Errorf("the failure of a host has its line, but the short log has\n%s", got)
	}
}

package reporttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
)

// KindOf maps the names of the steps in these tests to their kinds.
var KindOf = map[string]engine.StepKind{
	"stage": engine.StageStep, "hold": engine.HoldStep, "release": engine.ReleaseStep, "finalize": engine.RebootStep, "reboot": engine.RebootStep, "roll back": engine.RebootStep,
	"wait for boot": engine.BootStep, "wait for the previous OS": engine.BootStep, "wait for etcd": engine.EtcdStep, "restart survivors": engine.RestartStep,
}

// ExampleRun returns a run with one updated and one failed host.
func ExampleRun() []event.Event {
	p := ExamplePlan()
	at := Began
	var events []event.Event
	add := func(after time.Duration, e event.Event) {
		at = at.Add(after)
		e.Schema, e.Seq, e.Run, e.Time = 1, len(events)+1, "20261121-080000-0001", at
		if e.End != nil {
			e.End = withFigures(*e.End, events)
		}
		events = append(events, e)
	}
	step := func(host, name string, took time.Duration, f *engine.Failure) {
		add(0, event.Event{Type: event.StepStarted, Host: host, Step: name, Kind: KindOf[name]})
		add(took, event.Event{Type: event.StepEnded, Host: host, Step: name, Kind: KindOf[name], Took: engine.Duration(took), Failure: f})
	}
	sample := func(healthy int, leader string) {
		add(0, event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 3, Healthy: healthy, Quorum: 2, Leader: leader, Latency: []engine.LatencyPoint{{Host: "etcd-2", WALFsyncP99Seconds: 0.0184}}}})
	}
	add(0, event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion", Command: ParseCommand("--inventory=berlin.hcl", "--plan=plan.json", "--limit=etcd*:worker*")}})
	add(time.Second, event.Event{Type: event.HostsGathered, Message: "8 of 9 hosts reached", Took: engine.Duration(900 * time.Millisecond)})
	add(0, event.Event{Type: event.Planned, Plan: &p})
	add(0, event.Event{Type: event.StageStarted})
	sample(3, "etcd-0")
	add(0, event.Event{Type: event.StepProgress, Host: "etcd-1", Step: "stage", Message: "staging " + strings.Repeat("bc30253b41475566", 4)})
	step("etcd-1", "stage", 42*time.Second, nil)
	add(0, event.Event{Type: event.StageEnded, Took: engine.Duration(42 * time.Second)})
	add(0, event.Event{Type: event.BatchStarted, Batch: 1, Hosts: []string{"etcd-1", "worker-01"}})
	step("etcd-1", "hold", 300*time.Millisecond, nil)
	step("etcd-1", "finalize", 2*time.Second, nil)
	sample(2, "etcd-0")
	step("etcd-1", "wait for boot", 601*time.Second, nil)
	step("etcd-1", "wait for etcd", 4*time.Second, nil)
	step("etcd-1", "release", 200*time.Millisecond, nil)
	add(0, event.Event{Type: event.HostDone, Host: "etcd-1"})
	step("worker-01", "hold", 300*time.Millisecond, nil)
	f := &engine.Failure{Host: "worker-01", Step: "finalize", Cause: "exit status 1", Command: "set -eu\nfinalize\n", Stderr: "error: Bootloader write config:\x1b[2J No space left on device\nexit status 1", Hint: "free space in /boot"}
	step("worker-01", "finalize", 2*time.Second, f)
	add(0, event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f, Message: "it stays held"})
	add(0, event.Event{Type: event.Warned, Message: "etcd-2: the clock is 3 s behind"})
	add(0, event.Event{Type: event.BatchEnded, Batch: 1, Took: engine.Duration(612 * time.Second)})
	add(0, event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Verdict: engine.NewVerdict(engine.Findings{Failures: []engine.Failure{*f}, Excluded: p.Excluded}), Updated: []string{"etcd-1"}, Failed: []string{"worker-01"}, Untouched: []string{"etcd-0", "etcd-2", "worker-02"}}})
	return events
}

// NonDisruptiveRun returns a run that changes many hosts without disruption. On
// one host a reload fails and a reboot replaces it, and another host fails.
func NonDisruptiveRun() []event.Event {
	policy := ConfigChange("update", "file /etc/containers/policy.json", "built-in: /etc/containers/policy.json", ReloadCrio)
	changes := append(InDirectory("create", "/etc/containers/registries.d", 498), policy, UserChange("core"))
	var p engine.Plan
	var hosts []string
	for i := range 400 {
		hosts = append(hosts, fmt.Sprintf("worker-%03d", i))
		p.Hosts = append(p.Hosts, HostWithChanges(hosts[i], ReloadCrio, changes...))
	}
	hosts, p.Hosts = append(hosts, "gpu-1"), append(p.Hosts, HostWithChanges("gpu-1", restartChrony, ConfigChange("update", "file /etc/chrony.conf", "policy: path /etc/chrony.conf", restartChrony)))
	var s Script
	s.StartRun("--yes")
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.AddEvent(event.Event{Type: event.BatchStarted, Batch: 1, Hosts: hosts})
	at := s.At
	for i, h := range hosts[:400] {
		switch i {
		case 7:
			f := &engine.Failure{Host: h, Step: "write", Cause: "reload crio.service: Job for crio.service failed.", Kind: "action"}
			s.FailStep(f, at, 3*time.Second)
			s.AddEvent(event.Event{Type: event.Warned, Message: h + ": write: " + f.Cause + "; it is drained and rebooted instead"})
		case 9:
			f := &engine.Failure{Host: h, Step: "write", Cause: "/etc/containers/policy.json has changed since it was read", Kind: "changed"}
			s.FailStep(f, at, 3*time.Second)
			s.AddEvent(event.Event{Type: event.HostFailed, Host: h, Failure: f, Message: "nothing was written"})
		default:
			s.RunStep(h, "write", at, 3*time.Second)
			s.AddEvent(event.Event{Type: event.HostDone, Host: h})
		}
	}
	s.HoldHost("gpu-1", "write", "restart chronyd.service")
	s.AddEvent(event.Event{Type: event.BatchEnded, Batch: 1, Took: engine.Duration(12 * time.Second)})
	s.AddEvent(event.Event{Type: event.BatchStarted, Batch: 2, Hosts: hosts[7:8]})
	s.HoldHost(hosts[7], "reboot", "wait for boot")
	s.AddEvent(event.Event{Type: event.BatchEnded, Batch: 2, Took: engine.Duration(time.Minute)})
	s.EndByFailure(engine.Failure{Host: "worker-009", Step: "write", Cause: "/etc/containers/policy.json has changed since it was read"})
	return s.Events
}

// ShowEvents returns the lines of a run.
func ShowEvents(t *testing.T, events []event.Event, terse bool) string {
	t.Helper()
	var b strings.Builder
	p := lines.Writer{W: &b, Short: true, Terse: terse}
	for _, e := range events {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// EmitAll passes the events of the example run to a sink.
func EmitAll(t *testing.T, s report.Sink) {
	t.Helper()
	for _, e := range ExampleRun() {
		if err := s.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
}

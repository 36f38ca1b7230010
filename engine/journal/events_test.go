package journal_test

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

var began = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// examplePlan returns a plan for one host of an etcd cluster and one worker.
func examplePlan() engine.Plan {
	p := engine.Plan{Schema: 1, Site: "berlin", Total: 3, Matching: []string{"worker-04"}}
	for _, host := range []string{"etcd-1", "worker-01"} {
		p.Hosts = append(p.Hosts, engine.HostPlan{
			Host: host, Actions: []engine.Action{{Type: engine.DrainAction}, {Type: engine.RebootAction}},
			Changes:  []engine.Change{{Module: "os", Resource: "os", Before: "1.0 (ffe304ca31ef)", After: "bc30253b4147"}},
			Sequence: []engine.Step{{Name: "hold", On: host}, {Name: "finalize", On: host, Reboots: true}},
		})
	}
	return p
}

// exampleRun returns a run with one updated and one failed host.
func exampleRun() []event.Event {
	p := examplePlan()
	at := began
	var events []event.Event
	add := func(after time.Duration, e event.Event) {
		at = at.Add(after)
		e.Schema, e.Seq, e.Run, e.Time = 1, len(events)+1, "20261121-080000-0001", at
		events = append(events, e)
	}
	step := func(host string, s engine.Step, took time.Duration, f *engine.Failure) {
		add(0, event.Event{Type: event.StepStarted, Host: host, Step: s.Name, Kind: s.Kind()})
		add(took, event.Event{Type: event.StepEnded, Host: host, Step: s.Name, Kind: s.Kind(), Took: engine.Duration(took), Failure: f})
	}
	hold := engine.Step{Name: "hold", Do: engine.Op{TakeHold: &engine.TakeHold{}}}
	finalize := engine.Step{Name: "finalize", Reboots: true}
	add(0, event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion"}})
	add(time.Second, event.Event{Type: event.HostsGathered, Message: "3 of 3 hosts reached", Took: engine.Duration(900 * time.Millisecond)})
	add(0, event.Event{Type: event.Planned, Plan: &p})
	add(0, event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 3, Healthy: 3, Quorum: 2, Leader: "etcd-0"}})
	add(0, event.Event{Type: event.StepProgress, Host: "etcd-1", Step: "stage", Message: "staging bc30253b4147"})
	step("etcd-1", hold, 300*time.Millisecond, nil)
	step("etcd-1", finalize, 2*time.Second, nil)
	step("etcd-1", engine.Step{Name: "wait for boot", Do: engine.Op{AwaitBoot: &engine.AwaitBoot{}}}, 601*time.Second, nil)
	step("etcd-1", engine.Step{Name: "release", Do: engine.Op{Release: &engine.Release{}}}, 200*time.Millisecond, nil)
	add(0, event.Event{Type: event.HostDone, Host: "etcd-1"})
	step("worker-01", hold, 300*time.Millisecond, nil)
	f := &engine.Failure{Host: "worker-01", Step: "finalize", Cause: "exit status 1", Command: "set -eu\nfinalize\n", Stderr: "error: Bootloader write config:\x1b[2J No space left on device", Hint: "free space in /boot"}
	step("worker-01", finalize, 2*time.Second, f)
	add(0, event.Event{Type: event.HostFailed, Host: "worker-01", Failure: f, Message: "it stays held"})
	add(0, event.Event{Type: event.RunEnded, End: &event.RunEnd{Exit: engine.ExitFailed, Updated: []string{"etcd-1"}, Failed: []string{"worker-01"}}})
	return events
}

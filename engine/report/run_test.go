package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
	"holdfast/engine/report/termtext"
)

// kindOf is the kind of the steps in these tests.
var kindOf = map[string]engine.StepKind{
	"stage": engine.StageStep, "hold": engine.HoldStep, "release": engine.ReleaseStep, "finalize": engine.RebootStep, "reboot": engine.RebootStep, "roll back": engine.RebootStep,
	"wait for boot": engine.BootStep, "wait for the previous OS": engine.BootStep, "wait for etcd": engine.EtcdStep,
}

// exampleRun returns a run with one updated and one failed host.
func exampleRun() []engine.Event {
	p := examplePlan()
	at := began
	var events []engine.Event
	add := func(after time.Duration, e engine.Event) {
		at = at.Add(after)
		e.Schema, e.Seq, e.Run, e.Time = 1, len(events)+1, "20261121-080000-0001", at
		events = append(events, e)
	}
	step := func(host, name string, took time.Duration, f *engine.Failure) {
		add(0, engine.Event{Type: engine.StepStarted, Host: host, Step: name, Kind: kindOf[name]})
		add(took, engine.Event{Type: engine.StepEnded, Host: host, Step: name, Kind: kindOf[name], Took: engine.Duration(took), Failure: f})
	}
	sample := func(healthy int, leader string) {
		add(0, engine.Event{Type: engine.EtcdSampled, Cluster: "main", Etcd: &engine.Sample{Voters: 3, Healthy: healthy, Quorum: 2, Leader: leader, Latency: []engine.LatencyPoint{{Host: "etcd-2", WALFsyncP99: 0.0184}}}})
	}
	add(0, engine.Event{Type: engine.RunStarted, Start: &engine.RunStart{Site: "berlin", Holder: "ann@bastion", Args: []string{"apply", "-i", "berlin.hcl", "--plan", "plan.json", "--limit", "etcd*:worker*", "--plan=plan.json"}}})
	add(time.Second, engine.Event{Type: engine.HostsGathered, Message: "8 of 9 hosts reached", Took: engine.Duration(900 * time.Millisecond)})
	add(0, engine.Event{Type: engine.Planned, Plan: &p})
	add(0, engine.Event{Type: engine.StageStarted})
	sample(3, "etcd-0")
	add(0, engine.Event{Type: engine.StepProgress, Host: "etcd-1", Step: "stage", Message: "staging " + strings.Repeat("bc30253b41475566", 4)})
	step("etcd-1", "stage", 42*time.Second, nil)
	add(0, engine.Event{Type: engine.StageEnded, Took: engine.Duration(42 * time.Second)})
	add(0, engine.Event{Type: engine.BatchStarted, Batch: 1, Hosts: []string{"etcd-1", "worker-01"}})
	step("etcd-1", "hold", 300*time.Millisecond, nil)
	step("etcd-1", "finalize", 2*time.Second, nil)
	sample(2, "etcd-0")
	step("etcd-1", "wait for boot", 601*time.Second, nil)
	step("etcd-1", "wait for etcd", 4*time.Second, nil)
	step("etcd-1", "release", 200*time.Millisecond, nil)
	add(0, engine.Event{Type: engine.HostDone, Host: "etcd-1"})
	step("worker-01", "hold", 300*time.Millisecond, nil)
	f := &engine.Failure{Host: "worker-01", Step: "finalize", Cause: "exit status 1", Command: "set -eu\nfinalize\n", Stderr: "error: Bootloader write config:\x1b[2J No space left on device\nexit status 1", Hint: "free space in /boot"}
	step("worker-01", "finalize", 2*time.Second, f)
	add(0, engine.Event{Type: engine.HostFailed, Host: "worker-01", Failure: f, Message: "it stays held"})
	add(0, engine.Event{Type: engine.Warned, Message: "etcd-2: the clock is 3 s behind"})
	add(0, engine.Event{Type: engine.BatchEnded, Batch: 1, Took: engine.Duration(612 * time.Second)})
	add(0, engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: engine.ExitFailed, Reason: "worker-01: finalize: exit status 1", Updated: []string{"etcd-1"}, Failed: []string{"worker-01"}, Untouched: []string{"etcd-0", "etcd-2", "worker-02"}}})
	return events
}

func TestPlain(t *testing.T) {
	for name, p := range map[string]lines.Writer{
		"run": {Short: true}, "run-terse": {Short: true, Terse: true}, "run-plan": {Short: true, Plan: true},
	} {
		var b bytes.Buffer
		p.W = &b
		emitAll(t, &p)
		compareGolden(t, name, b.String())
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s: what a host said reaches the terminal as it is", name)
		}
	}
}

func emitAll(t *testing.T, s report.Sink) {
	t.Helper()
	for _, e := range exampleRun() {
		if err := s.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCanaryLines: the line of a batch names the pools whose canaries it has, also on a terminal.
func TestCanaryLines(t *testing.T) {
	events := []engine.Event{
		{Type: engine.BatchStarted, Batch: 1, Hosts: []string{"edge-0", "worker-01", "worker-02"}, Canaries: []string{"edge", "worker"}},
		{Type: engine.BatchEnded, Batch: 1, Canaries: []string{"edge", "worker"}, Took: engine.Duration(time.Second)},
		{Type: engine.BatchStarted, Batch: 2, Hosts: []string{"worker-03"}},
	}
	var plain, terminal bytes.Buffer
	p, live := lines.Writer{W: &plain, Short: true}, live.New(&terminal, termtext.Style{}, false)
	for _, e := range events {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
		if err := live.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	live.Close()
	want := "batch 1 (canary of edge, worker)  edge-0, worker-[01-02]\nbatch 1 (canary of edge, worker) done in 1.0 s\nbatch 2  worker-03\n"
	if plain.String() != want {
		t.Errorf("got\n%swant\n%s", plain.String(), want)
	}
	for line := range strings.Lines(want) {
		if !strings.Contains(terminal.String(), strings.TrimSpace(line)) {
			t.Errorf("the terminal lacks %q:\n%q", line, terminal.String())
		}
	}
}

// TestLive: at the end a terminal has all lines in order, and no live status.
func TestLive(t *testing.T) {
	var out bytes.Buffer
	live := live.New(&out, termtext.Style{}, true)
	emitAll(t, live)
	live.Close()
	text := out.String()
	if strings.Contains(text, "$p") {
		t.Error("the terminal is asked something, and nobody reads the answer")
	}
	last := 0
	for _, want := range []string{"20261121-080000-0001", "8 of 9 hosts", "batch 1", "etcd-1 done", "worker-01 failed", "etcd main: 2 of 3 voters healthy at the least", "exit 3"} {
		i := strings.Index(text[last:], want)
		if i < 0 {
			t.Fatalf("%q is missing, or in the wrong order, in\n%q", want, text)
		}
		last += i
	}
}

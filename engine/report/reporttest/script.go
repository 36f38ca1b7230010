package reporttest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/totals"
)

// Script makes the events of a run, with their times.
type Script struct {
	At     time.Time
	Events []event.Event
}

// AddEvent adds an event at the time of the script.
func (s *Script) AddEvent(e event.Event) {
	e.Schema, e.Seq, e.Run, e.Time = 1, len(s.Events)+1, "20261121-080000-0001", s.At
	if e.End != nil {
		e.End = withFigures(*e.End, s.Events)
	}
	s.Events = append(s.Events, e)
}

// withFigures returns the end of a run with the sums over its events, as a run emits it.
func withFigures(end event.RunEnd, events []event.Event) *event.RunEnd {
	var sums totals.Tally
	for _, e := range events {
		sums.AddEvent(e)
	}
	sums.AddTo(&end)
	return &end
}

// StartRun begins the run of a command with these arguments. A flag with a
// value is "--NAME=VALUE".
func (s *Script) StartRun(args ...string) {
	s.At = Began
	s.AddEvent(event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin", Holder: "ann@bastion", Command: ParseCommand(args...)}})
}

// ParseCommand returns the command apply with these arguments.
func ParseCommand(args ...string) event.Command {
	c := event.Command{Name: "apply"}
	for _, arg := range args {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			c.Args = append(c.Args, arg)
			continue
		}
		name, value, hasValue := strings.Cut(name, "=")
		f := event.Flag{Name: name, Value: value, Switch: !hasValue, Short: map[string]string{"yes": "y", "limit": "l", "inventory": "i"}[name]}
		f.Global = slices.Contains([]string{"limit", "inventory", "var", "runs"}, name)
		c.Flags = append(c.Flags, f)
	}
	return c
}

// RunStep adds a step with that duration, and returns the end of the step.
func (s *Script) RunStep(host, name string, at time.Time, took time.Duration) time.Time {
	return s.addStep(event.Event{Host: host, Step: name, Took: engine.Duration(took)}, at)
}

// FailStep adds a step that fails after that duration, and returns the end of
// the step.
func (s *Script) FailStep(f *engine.Failure, at time.Time, took time.Duration) time.Time {
	return s.addStep(event.Event{Host: f.Host, Step: f.Step, Took: engine.Duration(took), Failure: f}, at)
}

func (s *Script) addStep(end event.Event, at time.Time) time.Time {
	s.At, end.Type, end.Kind = at, event.StepEnded, KindOf[end.Step]
	s.AddEvent(event.Event{Type: event.StepStarted, Host: end.Host, Step: end.Step, Kind: end.Kind})
	s.At = at.Add(time.Duration(end.Took))
	s.AddEvent(end)
	return s.At
}

// EndRun ends the run with findings. The run is complete if all its pools are.
func (s *Script) EndRun(f engine.Findings, end event.RunEnd) {
	end.Verdict = engine.NewVerdict(f)
	end.Exit, end.Complete = end.Verdict.Exit, end.Verdict.Complete
	for _, p := range end.Pools {
		end.Complete = end.Complete && p.Complete
	}
	s.AddEvent(event.Event{Type: event.RunEnded, End: &end})
}

// EndByFailure ends the run with a failure.
func (s *Script) EndByFailure(f engine.Failure) {
	var failed []string
	if f.Host != "" {
		failed = []string{f.Host}
	}
	s.EndRun(engine.Findings{Failures: []engine.Failure{f}}, event.RunEnd{Failed: failed})
}

// PrintEnding returns the lines that the end of the run prints.
func (s *Script) PrintEnding(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	p := lines.Writer{W: &b, Short: true, Terse: true}
	for _, e := range s.Events {
		if e.Type == event.RunEnded {
			b.Reset()
		}
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// RollHost stages and reboots a worker.
func (s *Script) RollHost(i int) {
	host := fmt.Sprintf("worker-%03d", i)
	s.RunStep(host, "stage", Began, time.Duration(30+i%7)*time.Second)
	at := Began.Add(time.Minute + time.Duration(i/20)*15*time.Minute)
	at = s.RunStep(host, "hold", at, 300*time.Millisecond)
	at = s.RunStep(host, "finalize", at, 2*time.Second)
	if i%160 == 7 {
		at = s.FailStep(&engine.Failure{Host: host, Step: "wait for boot", Cause: "did not come back within 20m0s"}, at, 20*time.Minute)
		s.At = at
		s.AddEvent(event.Event{Type: event.HostFailed, Host: host, Message: "it stays held, with the reason in its hold; the next run takes it up before hosts that are not held", Failure: &engine.Failure{Host: host, Step: "wait for boot", Cause: "did not come back within 20m0s", Hint: "look at its console"}})
		return
	}
	at = s.RunStep(host, "wait for boot", at, time.Duration(600+i%11)*time.Second)
	s.RunStep(host, "release", at, 200*time.Millisecond)
	s.AddEvent(event.Event{Type: event.HostDone, Host: host})
}

// UpdateHosts disrupts and updates hosts.
func (s *Script) UpdateHosts(hosts ...string) {
	for _, h := range hosts {
		at := s.RunStep(h, "hold", s.At, time.Second)
		at = s.RunStep(h, "wait for boot", at, time.Minute)
		s.RunStep(h, "release", at, time.Second)
		s.AddEvent(event.Event{Type: event.HostDone, Host: h})
	}
}

// BeginPlay begins a play with one change on these hosts.
func (s *Script) BeginPlay(name, does string, hosts ...string) {
	p := engine.Plan{Total: 3, Play: name}
	for _, h := range hosts {
		hp := OSPlan(h, "worker", "", "")
		if does != "" {
			hp.Changes = []engine.Change{{Resource: does, Rule: "playbook: " + name, Task: true}}
		}
		p.Hosts = append(p.Hosts, hp)
	}
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
}

// RebootHost holds a host, reboots it and releases it. away is the duration of
// the reboot.
func (s *Script) RebootHost(host string, away time.Duration) {
	at := s.RunStep(host, "hold", s.At, time.Second)
	at = s.RunStep(host, "reboot", at, time.Second)
	at = s.RunStep(host, "wait for boot", at, away-time.Second)
	s.RunStep(host, "release", at, time.Second)
	s.AddEvent(event.Event{Type: event.HostDone, Host: host})
}

// FailHost adds the failure of a host during its hold.
func (s *Script) FailHost(host, step, cause, became string) {
	f := &engine.Failure{Host: host, Step: step, Cause: cause}
	s.RunStep(host, "hold", s.At, time.Second)
	s.FailStep(f, s.At, time.Second)
	s.AddEvent(event.Event{Type: event.HostFailed, Host: host, Failure: f, Message: became})
}

// HoldHost holds a host during these steps. The host then matches.
func (s *Script) HoldHost(host string, steps ...string) {
	s.RunStep(host, "hold", s.At, 100*time.Millisecond)
	for _, name := range steps {
		s.RunStep(host, name, s.At, 5*time.Second)
	}
	s.RunStep(host, "release", s.At, 100*time.Millisecond)
	s.AddEvent(event.Event{Type: event.HostDone, Host: host})
}

// PoolStatuses returns the pools of a site of 20 hosts. worker counts the hosts
// of pool worker in other states than updated, and gpu is the state of all
// hosts of pool gpu.
func PoolStatuses(worker map[engine.HostState]int, gpu engine.HostState) []engine.PoolStatus {
	updated := 12
	counts := map[engine.HostState]int{}
	for state, n := range worker {
		counts[state] = n
		updated -= n
	}
	counts[engine.Updated] = updated
	list := []engine.PoolStatus{
		{Name: "etcd", Total: 3, Counts: map[engine.HostState]int{engine.Updated: 3}, Complete: true},
		{Name: "worker", Total: 12, Counts: counts, Complete: updated == 12},
		{Name: "gpu", Total: 5, Counts: map[engine.HostState]int{gpu: 5}, Complete: gpu == engine.Updated},
	}
	return list
}

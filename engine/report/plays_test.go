package report_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/termtext"
)

// beginPlay begins a play with one change of these hosts.
func (s *script) beginPlay(name, does string, hosts ...string) {
	p := engine.Plan{Total: 3, Play: name}
	for _, h := range hosts {
		hp := osPlan(h, "worker", "", "")
		if does != "" {
			hp.Changes = []engine.Change{{Resource: does, Rule: "playbook: " + name, Task: true}}
		}
		p.Hosts = append(p.Hosts, hp)
	}
	s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
}

// rebootHost holds a host, reboots it for that long, and releases it.
func (s *script) rebootHost(host string, away time.Duration) {
	at := s.runStep(host, "hold", s.at, time.Second, nil)
	at = s.runStep(host, "reboot", at, time.Second, nil)
	at = s.runStep(host, "wait for boot", at, away-time.Second, nil)
	s.runStep(host, "release", at, time.Second, nil)
	s.addEvent(engine.Event{Type: engine.HostDone, Host: host})
}

// failHost fails a host while it is held.
func (s *script) failHost(host, step, cause, became string) {
	f := &engine.Failure{Host: host, Step: step, Cause: cause}
	s.runStep(host, "hold", s.at, time.Second, nil)
	s.runStep(host, step, s.at, time.Second, f)
	s.addEvent(engine.Event{Type: engine.HostFailed, Host: host, Failure: f, Message: became})
}

// TestPlaysEnd: the summary of a playbook has the work of all plays for each host, and the work that the last
// play did not begin.
func TestPlaysEnd(t *testing.T) {
	for name, tell := range map[string]func(s *script){
		"end-second-play": func(s *script) {
			s.startRun("apply", "night.yaml")
			s.beginPlay("upgrade", "", "worker-01", "worker-02")
			s.rebootHost("worker-01", time.Minute)
			s.rebootHost("worker-02", time.Minute)
			s.beginPlay("journald", "restart systemd-journald.service", "worker-01", "worker-02")
			s.failHost("worker-01", "service systemd-journald.service", "exit status 1", "it stays held, with the reason in its hold")
			cause := engine.EndCause{Kind: engine.FailedEnd, Failure: &engine.Failure{Host: "worker-01", Step: "service systemd-journald.service", Cause: "exit status 1"}}
			s.addEvent(engine.Event{Type: engine.RunEnded, End: &engine.RunEnd{Exit: engine.ExitFailed, Reason: "worker-01: service systemd-journald.service: exit status 1", Updated: []string{"worker-02"}, Failed: []string{"worker-01"}, NotBegun: []string{"reboot", "tidy up"}, Cause: cause}})
		},
		"end-two-reboots": func(s *script) {
			s.startRun("apply", "twice.yaml")
			s.beginPlay("one", "reboot", "worker-01")
			s.rebootHost("worker-01", 20*time.Second)
			s.at = s.at.Add(time.Hour)
			s.beginPlay("two", "reboot", "worker-01")
			s.rebootHost("worker-01", 30*time.Second)
			s.endRun(engine.ExitOK, "the playbook is done; holdfast status says whether every host matches")
		},
		"end-held-in-second-play": func(s *script) {
			s.startRun("apply", "twice.yaml")
			s.beginPlay("one", "reboot", "worker-01")
			s.rebootHost("worker-01", 20*time.Second)
			p := engine.Plan{Total: 3, Play: "two", Excluded: []engine.Exclusion{{Host: "worker-01", Kind: engine.Held, Reason: "held by ann@bastion"}}}
			s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
			s.endRun(engine.ExitRefused, "play two: incomplete: worker-01 is held")
		},
		"end-went-back": func(s *script) {
			s.startRun("apply")
			s.beginPlay("", "", "worker-01")
			at := s.runStep("worker-01", "hold", s.at, time.Second, nil)
			at = s.runStep("worker-01", "finalize", at, time.Second, nil)
			at = s.runStep("worker-01", "wait for boot", at, 20*time.Second, nil)
			f := &engine.Failure{Host: "worker-01", Step: "wait for units", Cause: "crio.service has failed"}
			at = s.runStep("worker-01", "wait for units", at, time.Hour, f)
			at = s.runStep("worker-01", "roll back", at, time.Second, nil)
			at = s.runStep("worker-01", "wait for the previous OS", at, 30*time.Second, nil)
			s.runStep("worker-01", "release", at, time.Second, nil)
			s.addEvent(engine.Event{Type: engine.HostFailed, Host: "worker-01", Failure: f, HostOutcome: engine.RolledBackOutcome, Message: "it was rolled back to the OS it ran before, and is not held; it remembers that this OS failed"})
			s.endByFailure(*f, "")
		},
	} {
		var s script
		tell(&s)
		compareGolden(t, name, s.printEnding(t))
	}
}

// TestPlayShowsItsCommands: the plan of a play shows its commands without --verbose, so that nobody approves
// a command unseen.
func TestPlayShowsItsCommands(t *testing.T) {
	hp := osPlan("worker-01", "worker", "", "")
	run := func(name, what string) engine.Step {
		return engine.Step{Name: name, On: "worker-01", Do: engine.Op{Exec: &engine.Exec{Script: "set -eu\n" + what, Display: what}}}
	}
	hp.Sequence = []engine.Step{
		run("mark", "touch /run/mark;\necho done"),
		{Name: "drain", On: "worker-01", Do: engine.Op{Command: &engine.Local{Command: "kubectl drain worker-01"}}},
		{Name: "finalize", On: "worker-01", Do: engine.Op{Exec: &engine.Exec{Script: "set -eu\nfinalize"}}},
		gateStep("ceph", "worker-01", engine.Gate{HostCommand: "ceph health"}),
		run("long", strings.Repeat("a long command ", 20)),
		run("systemctl restart a", "systemctl restart a"),
	}
	p := engine.Plan{Total: 1, Play: "night", Hosts: []engine.HostPlan{hp}, Batches: []engine.Batch{{Pools: []string{"worker"}, Hosts: []string{"worker-01"}}}}
	var b bytes.Buffer
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "plan-play", b.String())
}

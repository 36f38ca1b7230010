package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report/lines"
)

// nonDisruptiveRun returns a run that writes to many hosts without disruption. On one of them a reload fails
// and a reboot replaces it; another one fails.
func nonDisruptiveRun() []engine.Event {
	policy := configChange("update", "file /etc/containers/policy.json", "built-in: /etc/containers/policy.json", reloadCrio)
	changes := append(inDirectory("create", "/etc/containers/registries.d", 498), policy, userChange("core"))
	var p engine.Plan
	var hosts []string
	for i := range 400 {
		hosts = append(hosts, fmt.Sprintf("worker-%03d", i))
		p.Hosts = append(p.Hosts, hostWithChanges(hosts[i], reloadCrio, changes...))
	}
	hosts, p.Hosts = append(hosts, "gpu-1"), append(p.Hosts, hostWithChanges("gpu-1", restartChrony, configChange("update", "file /etc/chrony.conf", "policy: path /etc/chrony.conf", restartChrony)))
	var s script
	s.startRun("apply", "--yes")
	s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
	s.addEvent(engine.Event{Type: engine.BatchStarted, Batch: 1, Hosts: hosts})
	at := s.at
	for i, h := range hosts[:400] {
		switch i {
		case 7:
			f := &engine.Failure{Host: h, Step: "write", Cause: "reload crio.service: Job for crio.service failed.", Kind: "action"}
			s.runStep(h, "write", at, 3*time.Second, f)
			s.addEvent(engine.Event{Type: engine.Warned, Message: h + ": write: " + f.Cause + "; it is drained and rebooted instead"})
		case 9:
			f := &engine.Failure{Host: h, Step: "write", Cause: "/etc/containers/policy.json has changed since it was looked at", Kind: "changed"}
			s.runStep(h, "write", at, 3*time.Second, f)
			s.addEvent(engine.Event{Type: engine.HostFailed, Host: h, Failure: f, Message: "nothing was written"})
		default:
			s.runStep(h, "write", at, 3*time.Second, nil)
			s.addEvent(engine.Event{Type: engine.HostDone, Host: h})
		}
	}
	s.holdHost("gpu-1", "write", "restart chronyd.service")
	s.addEvent(engine.Event{Type: engine.BatchEnded, Batch: 1, Took: engine.Duration(12 * time.Second)})
	s.addEvent(engine.Event{Type: engine.BatchStarted, Batch: 2, Hosts: hosts[7:8]})
	s.holdHost(hosts[7], "reboot", "wait for boot")
	s.addEvent(engine.Event{Type: engine.BatchEnded, Batch: 2, Took: engine.Duration(time.Minute)})
	s.endByFailure(engine.Failure{Host: "worker-009", Step: "write", Cause: "/etc/containers/policy.json has changed since it was looked at"}, "")
	return s.events
}

// holdHost holds a host during these steps, and ends with a match.
func (s *script) holdHost(host string, steps ...string) {
	s.runStep(host, "hold", s.at, 100*time.Millisecond, nil)
	for _, name := range steps {
		s.runStep(host, name, s.at, 5*time.Second, nil)
	}
	s.runStep(host, "release", s.at, 100*time.Millisecond, nil)
	s.addEvent(engine.Event{Type: engine.HostDone, Host: host})
}

func showEvents(t *testing.T, events []engine.Event, terse bool) string {
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

// TestManyNonDisruptiveHosts: hundreds of hosts without disruption share a line, but failures among them are
// shown at once.
func TestManyNonDisruptiveHosts(t *testing.T) {
	compareGolden(t, "run-quiet", showEvents(t, nonDisruptiveRun(), false))
	compareGolden(t, "run-quiet-terse", showEvents(t, nonDisruptiveRun(), true))
}

// TestStoppedBatchNamesHosts: a run that is stopped in a batch still names the hosts that are done.
func TestStoppedBatchNamesHosts(t *testing.T) {
	events := nonDisruptiveRun()[:63]
	end := engine.Event{Type: engine.RunEnded, Time: events[62].Time, End: &engine.RunEnd{Exit: engine.ExitStopped, Reason: "stopped"}}
	got := showEvents(t, append(events, end), true)
	if want := "  worker-[000-006,008,010-019] (18 hosts) done, without disruption\n"; !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

// TestReportedDriftEnds: a run that leaves only reported drift names the hosts and the ways out.
func TestReportedDriftEnds(t *testing.T) {
	p := configPlans()["drift"]
	p.Hosts, p.Batches = nil, nil
	var s script
	s.startRun("apply", "--yes")
	s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
	s.endRun(engine.ExitWork, "incomplete: edge-[01-03]: drift, which is only to be reported; holdfast plan says what")
	compareGolden(t, "end-drift", s.printEnding(t))
}

// TestSummaryOfConfigs: the last column of the summary stays short for any number of changes.
func TestSummaryOfConfigs(t *testing.T) {
	image := osPlan("w-1", "worker", "", "").Changes[0]
	group, dir, link := configChange("create", "user group/wheel", noRule, none), configChange("create", "directory /srv/a", noRule, none), configChange("delete", "link /etc/localtime", noRule, none)
	files := inDirectory("create", "/etc/containers/registries.d", 480)
	var s script
	s.startRun("apply")
	p := engine.Plan{Hosts: []engine.HostPlan{
		hostWithChanges("w-1", reboot, image, files[0]), hostWithChanges("w-2", reloadCrio, append(files, group, dir, dir, link, userChange("core"), userChange("ann"))...),
		hostWithChanges("w-3", reloadCrio, asDrift(files[0])), hostWithChanges("w-4", reloadCrio, files[0], asDrift(files[1]), asDrift(userChange("core"))),
		hostWithChanges("w-5", none, configChange("update", engine.RecordResource, "built-in: a record changes nothing else", none)),
	}}
	s.addEvent(engine.Event{Type: engine.Planned, Plan: &p})
	s.holdHost("w-1", "write", "reboot", "wait for boot")
	for _, hp := range p.Hosts[1:] {
		s.runStep(hp.Host, "write", s.at, time.Second, nil)
		s.addEvent(engine.Event{Type: engine.HostDone, Host: hp.Host})
	}
	s.endRun(engine.ExitOK, "every host matches")
	compareGolden(t, "end-configs", s.printEnding(t))
}

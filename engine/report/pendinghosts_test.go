package report_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/report"
)

// quietRun is the events of a run that writes to many hosts without disrupting
// them. On one of them a reload fails, and a reboot stands in for it; one more
// fails.
func quietRun() []engine.Event {
	policy := config("update", "file /etc/containers/policy.json", "built-in: /etc/containers/policy.json", reloadCrio)
	changes := append(inDirectory("create", "/etc/containers/registries.d", 498), policy, user("core"))
	var p engine.Plan
	var hosts []string
	for i := range 400 {
		hosts = append(hosts, fmt.Sprintf("worker-%03d", i))
		p.Hosts = append(p.Hosts, changed(hosts[i], reloadCrio, changes...))
	}
	hosts, p.Hosts = append(hosts, "gpu-1"), append(p.Hosts, changed("gpu-1", restartChrony, config("update", "file /etc/chrony.conf", "policy: path /etc/chrony.conf", restartChrony)))
	var s script
	s.start("apply", "--yes")
	s.add(engine.Event{Type: engine.Planned, Plan: &p})
	s.add(engine.Event{Type: engine.BatchStarted, Batch: 1, Hosts: hosts})
	at := s.at
	for i, h := range hosts[:400] {
		switch i {
		case 7:
			f := &engine.Failure{Host: h, Step: "write", Cause: "reload crio.service: Job for crio.service failed.", Kind: "action"}
			s.step(h, "write", at, 3*time.Second, f)
			s.add(engine.Event{Type: engine.Warned, Message: h + ": write: " + f.Cause + "; it is drained and rebooted instead"})
		case 9:
			f := &engine.Failure{Host: h, Step: "write", Cause: "/etc/containers/policy.json has changed since it was looked at", Kind: "changed"}
			s.step(h, "write", at, 3*time.Second, f)
			s.add(engine.Event{Type: engine.HostFailed, Host: h, Failure: f, Message: "nothing was written"})
		default:
			s.step(h, "write", at, 3*time.Second, nil)
			s.add(engine.Event{Type: engine.HostDone, Host: h})
		}
	}
	s.held("gpu-1", "write", "restart chronyd.service")
	s.add(engine.Event{Type: engine.BatchEnded, Batch: 1, Took: engine.Duration(12 * time.Second)})
	s.add(engine.Event{Type: engine.BatchStarted, Batch: 2, Hosts: hosts[7:8]})
	s.held(hosts[7], "reboot", "wait for boot")
	s.add(engine.Event{Type: engine.BatchEnded, Batch: 2, Took: engine.Duration(time.Minute)})
	s.end(engine.ExitFailed, "worker-009: write: /etc/containers/policy.json has changed since it was looked at")
	return s.events
}

// held is a host that is held for these steps, and then matches.
func (s *script) held(host string, steps ...string) {
	s.step(host, "hold", s.at, 100*time.Millisecond, nil)
	for _, name := range steps {
		s.step(host, name, s.at, 5*time.Second, nil)
	}
	s.step(host, "release", s.at, 100*time.Millisecond, nil)
	s.add(engine.Event{Type: engine.HostDone, Host: host})
}

func shown(t *testing.T, events []engine.Event, terse bool) string {
	t.Helper()
	var b strings.Builder
	p := report.Plain{W: &b, Short: true, Terse: terse}
	for _, e := range events {
		if err := p.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestManyQuietHosts: hundreds of hosts that are not disrupted are no hundreds
// of lines; what fails among them is told at once.
func TestManyQuietHosts(t *testing.T) {
	golden(t, "run-quiet", shown(t, quietRun(), false))
	golden(t, "run-quiet-terse", shown(t, quietRun(), true))
}

// TestStoppedCrowd: a run that ends in the middle of a batch still names the
// hosts that were done.
func TestStoppedCrowd(t *testing.T) {
	events := quietRun()[:63]
	end := engine.Event{Type: engine.RunEnded, Time: events[62].Time, End: &engine.RunEnd{Exit: engine.ExitStopped, Reason: "stopped"}}
	got := shown(t, append(events, end), true)
	if want := "  worker-[000-006,008,010-019] (18 hosts) done, without disruption\n"; !strings.Contains(got, want) {
		t.Errorf("%q is missing in\n%s", want, got)
	}
}

// TestReportedDriftEnds: a run that leaves nothing but drift which is only
// reported says where it is and what can be done.
func TestReportedDriftEnds(t *testing.T) {
	p := configPlans()["drift"]
	p.Hosts, p.Batches = nil, nil
	var s script
	s.start("apply", "--yes")
	s.add(engine.Event{Type: engine.Planned, Plan: &p})
	s.end(engine.ExitWork, "incomplete: edge-[01-03]: drift, which is only to be reported; holdfast plan says what")
	golden(t, "end-drift", s.ending(t))
}

// TestSummaryOfConfigs: the last column stays short, however much is written.
func TestSummaryOfConfigs(t *testing.T) {
	image := osPlan("w-1", "worker", "", "").Changes[0]
	group, dir, link := config("create", "user group/wheel", noRule, none), config("create", "directory /srv/a", noRule, none), config("delete", "link /etc/localtime", noRule, none)
	files := inDirectory("create", "/etc/containers/registries.d", 480)
	var s script
	s.start("apply")
	p := engine.Plan{Hosts: []engine.HostPlan{
		changed("w-1", reboot, image, files[0]), changed("w-2", reloadCrio, append(files, group, dir, dir, link, user("core"), user("ann"))...),
		changed("w-3", reloadCrio, drift(files[0])), changed("w-4", reloadCrio, files[0], drift(files[1]), drift(user("core"))),
		changed("w-5", none, config("update", engine.RecordResource, "built-in: a record changes nothing else", none)),
	}}
	s.add(engine.Event{Type: engine.Planned, Plan: &p})
	s.held("w-1", "write", "reboot", "wait for boot")
	for _, hp := range p.Hosts[1:] {
		s.step(hp.Host, "write", s.at, time.Second, nil)
		s.add(engine.Event{Type: engine.HostDone, Host: hp.Host})
	}
	s.end(engine.ExitOK, "every host matches")
	golden(t, "end-configs", s.ending(t))
}

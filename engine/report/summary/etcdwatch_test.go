package summary_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/reporttest"
)

// member makes the events of one etcd member: steps and samples, in order.
type member struct {
	s  *reporttest.Script
	at time.Time
}

func (m *member) runStep(host, name string, took time.Duration, f *engine.Failure) {
	for _, e := range []event.Event{{Type: event.StepStarted}, {Type: event.StepEnded, Failure: f}} {
		e.Host, e.Cluster, e.Step, e.Kind = host, "main", name, reporttest.KindOf[name]
		m.s.At = m.at
		m.s.AddEvent(e)
		m.at = m.at.Add(took)
	}
}

func (m *member) addSample(healthy int, down ...string) {
	m.s.At = m.at
	m.s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Voters: 3, Healthy: healthy, Quorum: 2, UnhealthyHosts: down}})
}

// addUnanswered makes a sample that no member answered, some seconds after the event before it.
func (m *member) addUnanswered() {
	m.at = m.at.Add(10 * time.Second)
	m.s.At = m.at
	m.s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &event.Sample{Problems: []string{"no sample within 30s"}}})
}

// rebootSoftly makes the events of a soft reboot during which the member runs on.
func (m *member) rebootSoftly(host string) {
	for _, t := range []event.Type{event.StepStarted, event.StepEnded} {
		m.s.At = m.at
		m.s.AddEvent(event.Event{
			Type: t, Host: host, Cluster: "main", Step: "finalize", Kind: engine.RebootStep,
			Reboot: &engine.Reboot{Kind: engine.SoftReboot, Survival: engine.RestartsAfter},
		})
	}
}

// TestMembersTakenDownCount checks that a member that the run took down counts
// as down, with or without a sample at that time.
func TestMembersTakenDownCount(t *testing.T) {
	away := func(m *member, host string) {
		m.runStep(host, "hold", time.Second, nil)
		m.addSample(3)
		m.runStep(host, "finalize", time.Second, nil)
		m.runStep(host, "wait for boot", 3*time.Second, nil) // shorter than the interval of samples
		m.runStep(host, "wait for etcd", time.Second, nil)
		m.runStep(host, "release", time.Second, nil)
	}
	for name, tc := range map[string]struct {
		tell func(m *member)
		want string
	}{
		"nobody looked while it was away": {func(m *member) { away(m, "etcd-0"); m.addSample(3); away(m, "etcd-1"); m.addSample(3) }, "2 of 3 voters healthy at the least (quorum 2, 4 samples; taken down: etcd-[0-1])"},
		"the sample says so, too":         {func(m *member) { away(m, "etcd-0"); m.addSample(2, "etcd-0") }, "2 of 3 voters healthy at the least (quorum 2, 2 samples; taken down: etcd-0)"},
		"another is down as well": {func(m *member) {
			m.addSample(2, "etcd-2")
			m.runStep("etcd-0", "finalize", time.Second, nil)
		}, "1 of 3 voters healthy at the least"},
		"it is the one that is down": {func(m *member) {
			m.addSample(2, "etcd-0")
			m.runStep("etcd-0", "finalize", time.Second, nil)
		}, "2 of 3 voters healthy at the least"},
		"it refused to go down": {func(m *member) {
			m.addSample(3)
			m.runStep("etcd-0", "finalize", time.Second, &engine.Failure{Host: "etcd-0", Step: "finalize", Cause: "not staged any more", Kind: engine.ChangedFailure})
		}, "3 of 3 voters healthy at the least (quorum 2, 1 sample)"},
		"it ran on, and nobody could see it": {func(m *member) {
			m.addSample(3)
			m.rebootSoftly("etcd-0")
			m.addSample(2, "etcd-0")
			m.runStep("etcd-0", "wait for etcd", time.Second, nil)
			m.addSample(2, "etcd-0") // began before
			m.addSample(3)
		}, "3 of 3 voters healthy at the least (quorum 2, 4 samples; not seen during a soft reboot: etcd-0)"},
		"it ran on, and was restarted": {func(m *member) {
			m.addSample(3)
			m.rebootSoftly("etcd-0")
			m.runStep("etcd-0", "restart survivors", time.Second, nil)
			m.runStep("etcd-0", "wait for etcd", time.Second, nil)
		}, "2 of 3 voters healthy at the least (quorum 2, 1 sample; taken down: etcd-0)"},
		"it was to run on, and the host rebooted in full": {func(m *member) {
			m.addSample(3)
			m.rebootSoftly("etcd-0")
			m.s.AddEvent(event.Event{Type: event.Warned, Host: "etcd-0", Reboot: &engine.Reboot{Kind: engine.FullReboot}})
		}, "2 of 3 voters healthy at the least (quorum 2, 1 sample; taken down: etcd-0)"},
		"it is down after the soft reboot": {func(m *member) {
			m.addSample(3)
			m.rebootSoftly("etcd-0")
			m.runStep("etcd-0", "wait for etcd", time.Second, nil)
			m.addSample(3)
			m.addSample(2, "etcd-0")
		}, "2 of 3 voters healthy at the least (quorum 2, 3 samples)"},
		"nothing was taken down": {func(m *member) { m.runStep("etcd-0", "hold", time.Second, nil); m.addSample(3) }, "3 of 3 voters healthy at the least (quorum 2, 1 sample)"},
		"no member answered for a while": {func(m *member) {
			m.addSample(3)
			m.runStep("etcd-0", "hold", 0, nil)
			m.addUnanswered()
			m.addUnanswered()
		}, "3 of 3 voters healthy at the least while a member answered (quorum 2, 1 sample, 2 more unanswered between 08:00:10 and 08:00:20 UTC)"},
		"no member answered once, and others were taken down": {func(m *member) {
			m.addSample(3)
			m.runStep("etcd-0", "finalize", time.Second, nil)
			m.addUnanswered()
			m.addSample(2, "etcd-0")
		}, "2 of 3 voters healthy at the least while a member answered (quorum 2, 2 samples, 1 more unanswered at 08:00:12 UTC; taken down: etcd-0)"},
		"no member answered because all were down": {func(m *member) {
			m.addSample(3)
			for _, host := range []string{"etcd-0", "etcd-1", "etcd-2"} {
				m.runStep(host, "finalize", time.Second, nil)
			}
			m.addUnanswered()
			for _, host := range []string{"etcd-0", "etcd-1", "etcd-2"} {
				m.runStep(host, "wait for etcd", time.Second, nil)
			}
			m.addUnanswered() // began before
			m.addSample(3)
		}, "0 of 3 voters healthy at the least (quorum 2, 2 samples, 2 more unanswered; taken down: etcd-[0-2])"},
	} {
		t.Run(name, func(t *testing.T) {
			var s reporttest.Script
			s.StartRun()
			tc.tell(&member{&s, reporttest.Began})
			s.EndRun(engine.Findings{}, event.RunEnd{})
			if got := s.PrintEnding(t); !strings.Contains(got, "etcd main: "+tc.want) {
				t.Errorf("it ends with\n%s\nwithout %q", got, tc.want)
			}
		})
	}
}

package planner_test

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
)

// TestSilentLogind checks that the advice for a host whose logind does not answer is not to ask logind.
func TestSilentLogind(t *testing.T) {
	w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: "reboot"})}}
	in := w.input()
	f := in.Facts[w.hosts[0].name]
	f.Inhibitors = []string{engine.SilentLogind}
	in.Facts[w.hosts[0].name] = f
	p := planner.NewPlan(in)
	const want = "systemd-logind does not answer, so a program may block its shutdown, and it must not be rebooted; restart it (systemctl restart systemd-logind on the host)"
	if len(p.Excluded) != 1 || !strings.Contains(p.Excluded[0].Reason, want) {
		t.Errorf("left out: %v", p.Excluded)
	}
}

// A host whose shutdown a program blocks is not drained for a reboot that systemd would
// refuse (https://github.com/openshift/machine-config-operator/pull/3136).
func TestBlockedShutdown(t *testing.T) {
	for _, tc := range []struct {
		name, work, stageUnit string
		out                   bool
	}{
		{"a reboot", "reboot", "", true},
		{"a restart", "restart", "", false},
		{"nothing that disrupts", "quiet", "", false},
		{"nothing to do", "", "", false},
		{"the staging may block it", "reboot", "active", false},
	} {
		w := &world{pools: []engine.Pool{{Name: "worker"}}, hosts: []*machine{worker(0).in(machine{work: tc.work})}}
		in := w.input()
		name := w.hosts[0].name
		f := in.Facts[name]
		f.Inhibitors, f.StageUnit = []string{"flasher 0 root 990 flash shutdown firmware block"}, tc.stageUnit
		in.Facts[name] = f
		p := planner.NewPlan(in)
		if out := len(p.Excluded) == 1 && p.Host(name) == nil; out != tc.out || out && (p.Verdict().Exit != engine.ExitFailed || len(p.Batches) > 0) {
			t.Errorf("%s: left out %v, batches %v, exit %d", tc.name, p.Excluded, p.Batches, p.Verdict().Exit)
		}
		if tc.out && !strings.Contains(p.Excluded[0].Reason, "a program blocks its shutdown (flasher 0 root 990 flash shutdown firmware block)") {
			t.Errorf("%s: %s", tc.name, p.Excluded[0].Reason)
		}
	}
}

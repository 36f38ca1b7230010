package rollout_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// TestStepsThatTakeLongTell checks that a long step reports, at least every
// half minute, that it continues and the condition that it waits for.
func TestStepsThatTakeLongTell(t *testing.T) {
	for name, test := range map[string]struct {
		trait   func(*simulator.Traits)
		step    string
		missing string
	}{
		"boot":  {func(t *simulator.Traits) { t.NoReturn = true }, "wait for boot", "connection refused"},
		"units": {func(t *simulator.Traits) { t.Missing = []string{"sshd.service"} }, "wait for units", "sshd.service ran before and does not run"},
		"etcd":  {func(t *simulator.Traits) { t.NoEtcd = true }, "wait for etcd", "2 of 3 members are healthy"},
		"stage": {func(t *simulator.Traits) { t.Stage = 5 * time.Minute }, "stage", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(3, 1))
				site.Host("etcd-1").Change(test.trait)
				b := site.Bastion("run-1")
				end := applyRun(b)
				var last time.Time
				told := 0
				for _, e := range b.Events() {
					if e.Host != "etcd-1" || e.Step != test.step {
						continue
					}
					if silent := e.Time.Sub(last); !last.IsZero() && silent > 30*time.Second {
						t.Errorf("%s is silent for %s", test.step, silent)
					}
					last = e.Time
					if e.Type == event.StepProgress && e.Took > 0 && e.Limit > e.Took && strings.Contains(e.Message, test.missing) {
						told++
					}
				}
				if told < 8 {
					t.Errorf("it told %d times what is missing; the run ended with %s", told, findingsText(end))
				}
			})
		})
	}
}

// runWithFailingUnit updates a site on which sshd.service of etcd-1 fails after the reboot, and returns the events.
func runWithFailingUnit() []event.Event {
	site := newSite(simulator.Fleet(3, 1))
	site.Host("etcd-1").Change(func(t *simulator.Traits) { t.Failing = []string{"sshd.service"} })
	b := site.Bastion("run-1")
	applyRun(b)
	return b.Events()
}

// TestUnitsThatFailSayWhy checks that the error about a failed unit has the
// last lines of its log.
func TestUnitsThatFailSayWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, e := range runWithFailingUnit() {
			if e.Type == event.HostFailed && e.Host == "etcd-1" {
				if !strings.Contains(e.Failure.Stderr, "its last words") {
					t.Errorf("%+v", e.Failure)
				}
				return
			}
		}
		t.Error("etcd-1 has not failed")
	})
}

// TestFailedUnitEndsTheWait checks that the wait for units does not last until its
// timeout if a unit has failed and nothing will start it.
func TestFailedUnitEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, e := range runWithFailingUnit() {
			if e.Type != event.StepEnded || e.Host != "etcd-1" || e.Step != "wait for units" || e.Failure == nil {
				continue
			}
			if took := time.Duration(e.Took); took < 30*time.Second || took > time.Minute || e.Failure.Cause != "sshd.service has failed" {
				t.Errorf("after %s: %+v", took, e.Failure)
			}
			return
		}
		t.Error("the wait has not failed")
	})
}

package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/maintenance"
	"holdfast/engine/report"
	"holdfast/engine/simulator"
)

// maintainBy carries out a request of a person on a bastion.
func maintainBy(b *simulator.Bastion, r maintenance.Request) event.RunEnd {
	run := b.Run()
	r.Holder, r.Bastion = run.Start.Holder, run.Start.Bastion
	return run.Maintain(context.Background(), r)
}

func holdWorkers(hosts ...string) maintenance.Request {
	return maintenance.Request{Action: engine.HoldHosts, Hosts: hosts, Reason: "fans"}
}

func releaseWorkers(hosts ...string) maintenance.Request {
	return maintenance.Request{Action: engine.ReleaseHosts, Hosts: hosts}
}

// stepsOf returns the journaled plan, steps and outcomes of the events of a run of maintenance.
func stepsOf(events []event.Event) (said []string) {
	for _, e := range events {
		switch {
		case e.Type == event.MaintenancePlanned:
			said = append(said, fmt.Sprint("plan ", len(e.Maintenance.Hosts)))
		case e.Type == event.StepStarted || e.Type == event.HostDone || e.Type == event.HostFailed:
			said = append(said, string(e.Type)+" "+e.Host)
		}
	}
	slices.Sort(said)
	return said
}

// TestAPersonHoldsDuringARun: a person holds a host of a run that is under way, and another that the run has taken. The run leaves
// the first alone, and updates it after the release; the second is refused to the person. The person comes when both hosts of the
// batch reboot: before, the hold would use up the budget of the batch.
func TestAPersonHoldsDuringARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(3, setMaxUnavailable(2)))
		ann, run := site.Bastion("person-1"), site.Bastion("run-1")
		var held event.RunEnd
		var rebooting []string
		run.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Step == "reboot" {
				if rebooting = append(rebooting, e.Host); len(rebooting) == 2 {
					held = maintainBy(ann, holdWorkers(e.Host, "worker-2"))
				}
			}
		}
		end := applyRun(run)
		if len(rebooting) < 2 {
			t.Fatalf("only %q rebooted", rebooting)
		}
		taken := rebooting[1]
		failOnErrors(t, checkEnd(end, engine.ExitRefused), checkLaws(site), checkUpdated(site.Host("worker-0")), checkUpdated(site.Host("worker-1")))
		if held.Exit != engine.ExitRefused || !slices.Equal(held.Updated, []string{"worker-2"}) || !slices.Equal(held.Failed, []string{taken}) {
			t.Errorf("%+v", held)
		}
		if text := report.EndText(held); text != "hold: 1 host held, 1 host refused" {
			t.Error(text)
		}
		if h := site.Host("worker-2").Hold(); h == nil || h.Kind != engine.MaintenanceHold || h.Reason != "fans" || len(site.Host("worker-2").State().Reboots) > 0 {
			t.Errorf("%+v", h)
		}
		if got, want := stepsOf(ann.Events()), []string{"host-done worker-2", "host-failed " + taken, "plan 2", "step-started " + taken, "step-started worker-2"}; !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		released := maintainBy(ann, releaseWorkers(taken, "worker-2"))
		if text := report.EndText(released); released.Exit != engine.ExitOK || text != "release: 1 host released" {
			t.Errorf("%s: %+v", text, released)
		}
		failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2")), engine.ExitOK), checkConverged(site))
	})
}

// TestMaintenanceNeedsAJournal: nothing is held once an event cannot be journaled.
func TestMaintenanceNeedsAJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		b := site.Bastion("person-1")
		run := b.Run()
		run.Sink = fullSink{}
		end := run.Maintain(t.Context(), holdWorkers("worker-0", "worker-1"))
		if end.Exit != engine.ExitFailed || !strings.Contains(findingsText(end), "the disk is full; nothing was touched") {
			t.Errorf("%+v", end)
		}
		for _, h := range site.Hosts() {
			if h.Hold() != nil {
				t.Errorf("%s is held", h.Name)
			}
		}
	})
}

type fullSink struct{}

func (fullSink) Emit(event.Event) error { return errors.New("the disk is full") }

// TestMaintenanceWhoseAnswerIsLost: a hold, an extension and a release whose answer is lost are repeated, and have worked once.
func TestMaintenanceWhoseAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 1))
		for i, r := range []maintenance.Request{
			holdWorkers("worker-0"), {Action: engine.ExtendHolds, Hosts: []string{"worker-0"}, For: engine.Duration(1), Force: true}, {Action: engine.ReleaseHosts, Hosts: []string{"worker-0"}, Force: true},
		} {
			b := site.Bastion(fmt.Sprint("person-", i))
			lost := 0
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb != "read hold" && c.Verb != "probe" && lost == 0 {
					lost++
					return simulator.LostBack
				}
				return simulator.NoFault
			}
			if end := maintainBy(b, r); end.Exit != engine.ExitOK {
				t.Errorf("%s: %s: %s", r.Action, report.EndText(end), findingsText(end))
			}
		}
		if h := site.Host("worker-0").Hold(); h != nil {
			t.Error(h)
		}
	})
}

// TestStoppedHoldMayBeHeld: a person stops the command while it takes a hold. Its failure tells that the host may be held only if the
// script was sent, or its answer was lost for good.
func TestStoppedHoldMayBeHeld(t *testing.T) {
	for name, c := range map[string]struct {
		verb  string
		stops bool
		fault simulator.Fault
		held  bool
	}{
		"while it takes the hold": {"hold", true, simulator.LostBack, true},
		"before":                  {"probe", true, simulator.NoFault, false},
		"the answer is lost":      {"hold", false, simulator.LostBack, true},
		"the script fails":        {"hold", false, simulator.Fails, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(0, 1))
			b := site.Bastion("person-1")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			b.Fault = func(call simulator.Call) simulator.Fault {
				if call.Verb != c.verb {
					return simulator.NoFault
				}
				if c.stops {
					cancel()
				}
				return c.fault
			}
			run, r := b.Run(), holdWorkers("worker-0")
			r.Holder, r.Bastion = run.Start.Holder, run.Start.Bastion
			end := run.Maintain(ctx, r)
			told := strings.Contains(findingsText(end), "it may be held (check with: holdfast holds worker-0)")
			if told != c.held || end.Exit == engine.ExitOK || strings.Contains(findingsText(end), "context canceled") {
				t.Errorf("%s: %s: %s", name, report.EndText(end), findingsText(end))
			}
		})
	}
}

// TestReleaseWhoseAnswersAreLost: nobody knows whether the hold has ended, or was extended, and the failure does not claim either.
func TestReleaseWhoseAnswersAreLost(t *testing.T) {
	for want, r := range map[string]maintenance.Request{
		"its hold may have ended (check with: holdfast holds worker-0)":   {Action: engine.ReleaseHosts, Hosts: []string{"worker-0"}, Force: true},
		"its hold may have changed (check with: holdfast holds worker-0)": {Action: engine.ExtendHolds, Hosts: []string{"worker-0"}, For: engine.Duration(time.Hour), Force: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			site := newSite(simulator.Fleet(0, 1))
			if end := maintainBy(site.Bastion("person-1"), holdWorkers("worker-0")); end.Exit != engine.ExitOK {
				t.Fatal(report.EndText(end))
			}
			b := site.Bastion("person-2")
			b.Fault = func(c simulator.Call) simulator.Fault {
				if c.Verb == "read hold" || c.Verb == "probe" {
					return simulator.NoFault
				}
				return simulator.LostBack
			}
			end := maintainBy(b, r)
			if text := findingsText(end); end.Exit == engine.ExitOK || !strings.Contains(text, want) || strings.Contains(text, "still held") {
				t.Errorf("%s: %s", report.EndText(end), text)
			}
		})
	}
}

// TestExtensionKeepsNewerHolds: between the read of a hold and its extension, another command of the person changes or ends the hold.
func TestExtensionKeepsNewerHolds(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*simulator.Site)
		stays     bool
		says      string
	}{
		"drained": {func(s *simulator.Site) {
			s.Host("worker-0").ForgeDrain(engine.HoldDrain{Name: "pods", Kubernetes: "main", Node: "worker-0"})
		}, true, "its hold has changed since it was read: held by "},
		"released": {func(s *simulator.Site) {
			r := releaseWorkers("worker-0")
			r.Force = true
			maintainBy(s.Bastion("person-2"), r)
		}, false, "its hold has ended since it was read"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := newSite(simulator.Fleet(0, 1))
				ann := site.Bastion("person-1")
				maintainBy(ann, holdWorkers("worker-0"))
				ann.Watch = func(e event.Event) {
					if e.Type == event.MaintenancePlanned {
						c.meanwhile(site)
					}
				}
				end := maintainBy(ann, maintenance.Request{Action: engine.ExtendHolds, Hosts: []string{"worker-0"}, For: engine.Duration(time.Hour), Reason: "DIMM"})
				h := site.Host("worker-0").Hold()
				if said := findingsText(end); end.Exit != engine.ExitRefused || (h != nil) != c.stays || h != nil && (h.Drain == nil || h.Reason != "fans") || !strings.Contains(said, c.says) {
					t.Errorf("exit %d, %s, %+v", end.Exit, said, h)
				}
			})
		})
	}
}

// TestMaintenanceOfHostsThatAreOff: a host that does not answer is named, and does not keep the others from their hold.
func TestMaintenanceOfHostsThatAreOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(simulator.Fleet(0, 2))
		site.Host("worker-0").PowerOff()
		end := maintainBy(site.Bastion("person-1"), holdWorkers("worker-0", "worker-1"))
		if text := report.EndText(end); end.Exit != engine.ExitUnreachable || text != "hold: 1 host held, 1 host unreachable" {
			t.Errorf("exit %d: %s: %s", end.Exit, text, findingsText(end))
		}
	})
}

// TestAPersonHearsOfOtherRuns: a person who holds a host hears of the run of another bastion, while it works, and after it has
// failed, and of its unfinished roll-out.
func TestAPersonHearsOfOtherRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		site := newSite(workerFleet(4, setMaxUnavailable(1)))
		ann, run := site.Bastion("person-1"), site.Bastion("run-1")
		var during []engine.NoticeKind
		run.Watch = func(e event.Event) {
			if e.Type == event.StepStarted && e.Host == "worker-0" && e.Step == "reboot" && during == nil {
				maintainBy(ann, holdWorkers("worker-3"))
				during = noticesOf(ann.Events())
				site.Host("worker-0").Change(func(t *simulator.Traits) { t.Failing = []string{"app.service"} })
			}
		}
		applyRun(run)
		if want := []engine.NoticeKind{engine.RunUnderWay, engine.UnfinishedRollout}; !slices.Equal(during, want) {
			t.Errorf("during the run: %q", during)
		}
		bob := site.Bastion("person-2")
		maintainBy(bob, holdWorkers("worker-2"))
		if after, want := noticesOf(bob.Events()), []engine.NoticeKind{engine.RunUnfinished, engine.UnfinishedRollout}; !slices.Equal(after, want) {
			t.Errorf("after the run: %q", after)
		}
	})
}

func noticesOf(events []event.Event) (kinds []engine.NoticeKind) {
	for _, e := range events {
		if e.Maintenance != nil {
			for _, n := range e.Maintenance.Notices {
				kinds = append(kinds, n.Kind)
			}
		}
	}
	return kinds
}

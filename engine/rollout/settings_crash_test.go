package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// The power of a host is cut at every point of the scripts that write a setting
// and make it take effect. The next run finishes, and one more run changes
// nothing.
func TestPowerCutInScript(t *testing.T) {
	for _, word := range []string{"none-2", "reload-2", "restart-2", "drain-reload-2", "reboot-2"} {
		for _, point := range []string{"before", "written", "acted", "recorded"} {
			for _, os := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%t", word, point, os), func(t *testing.T) {
					if os {
						longtest.SkipOthers(t, word, "drain-reload-2", "reboot-2")
					}
					synctest.Test(t, func(t *testing.T) { powerCutInScript(t, word, point, os) })
				})
			}
		}
	}
}

func powerCutInScript(t *testing.T, word, point string, os bool) {
	inv := simulator.Fleet(3, 1)
	if !os {
		inv = noOS(inv)
	}
	site := wantingOf(inv, word)
	for _, name := range []string{"etcd-1", "worker-0"} {
		site.Host(name).Change(func(t *simulator.Traits) { t.CutsPower = point })
	}
	past := &earlierRuns{}
	for n := range 3 {
		b := site.Bastion(fmt.Sprintf("run-%d", n))
		end := applyRun(b, past.configureRun)
		failOnErrors(t, checkLaws(site))
		if end.Exit == engine.ExitOK {
			break
		}
		past.addRun(b)
		time.Sleep(10 * time.Minute)
	}
	failOnErrors(t, checkLaws(site))
	for _, h := range site.Hosts() {
		failOnErrors(t, checkMatching(h))
		if n := len(h.State().Reboots); n > 1 {
			t.Errorf("%s was rebooted %d times", h.Name, n)
		}
	}
	checkSecondRun(t, site)
}

// TestKilledBeforeRecord kills a run between the write and the record. The next
// run finishes, and one more run changes nothing.
func TestKilledBeforeRecord(t *testing.T) {
	for word, begins := range map[string]string{"restart-2": "record", "drain-reload-2": "reload app.service", "reboot-2": "reboot", "none-2": "record"} {
		t.Run(word, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				site := siteWanting(0, 1, word)
				h, b := site.Host("worker-0"), site.Bastion("run-1")
				if word == "none-2" { // the run is killed while the host is without power
					h.Change(func(t *simulator.Traits) { t.CutsPower = "written" })
				}
				b.Watch = func(e event.Event) {
					if e.Type == event.StepStarted && e.Step == begins {
						b.Kill()
					}
				}
				applyRun(b)
				time.Sleep(10 * time.Minute)
				if st := h.State(); st.Disk != word || st.Record != "" {
					t.Errorf("the first run left %+v", st)
				}
				failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), checkLaws(site), checkMatching(h))
				checkSecondRun(t, site)
			})
		})
	}
}

// TestEditedMeanwhile edits a host after the approval: the run writes nothing
// there, and reports the edit.
func TestEditedMeanwhile(t *testing.T) {
	for _, word := range []string{"reload-2", "reboot-2"} {
		for when, edit := range map[string]func(*simulator.Site, *rollout.Run, *simulator.Bastion){
			"while asked": func(s *simulator.Site, r *rollout.Run, _ *simulator.Bastion) {
				r.Approve = func(context.Context, engine.Plan) error {
					time.Sleep(time.Minute)
					s.Host("worker-0").Edit("mine")
					return nil
				}
			},
			"right before": func(s *simulator.Site, _ *rollout.Run, b *simulator.Bastion) {
				b.Fault = func(c simulator.Call) simulator.Fault {
					if c.Host == "worker-0" && (c.Verb == "write" || c.Verb == "quiet") {
						s.Host("worker-0").Edit("mine")
					}
					return simulator.NoFault
				}
			},
		} {
			t.Run(word+" "+when, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					site := siteWanting(0, 1, word)
					h, b := site.Host("worker-0"), site.Bastion("run-1")
					end := applyRun(b, func(r *rollout.Run) { edit(site, r, b) })
					st := h.State()
					errs := []error{checkEnd(end, engine.ExitFailed, "worker-0", "setting"), checkLaws(site)}
					if st.Disk != "mine" || st.Writes > 0 || len(st.Reboots) > 0 {
						errs = append(errs, fmt.Errorf("it was changed: %+v", st))
					}
					if err := errors.Join(errs...); err != nil {
						t.Errorf("%v\n%s", err, runTranscript(b))
					}
					failOnErrors(t, checkEnd(applyRun(site.Bastion("run-2"), successorOf(b)), engine.ExitOK), checkLaws(site), checkMatching(h))
				})
			})
		}
	}
}

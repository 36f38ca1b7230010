package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// holdDuring lets a person take worker-0 half a minute after the start of a
// step.
func holdDuring(site *simulator.Site, b *simulator.Bastion, step string) {
	b.Watch = func(e event.Event) {
		if e.Type == event.StepStarted && e.Host == "worker-0" && e.Step == step {
			time.AfterFunc(30*time.Second, func() {
				site.Host("worker-0").SetHold(&engine.Hold{Kind: engine.MaintenanceHold, Holder: "bob@b9", Reason: "disk swap"})
			})
		}
	}
}

// holdCase is a hold that a person takes during a step.
type holdCase struct {
	word   string // setting to write; "": stage an OS
	step   string
	broken func(*simulator.Site, *rollout.Run) // disables the check of the hold
}

func holdCases() map[string]holdCase {
	hurried := func(_ *simulator.Site, r *rollout.Run) { r.Hosts = hurriedHosts(r.Hosts) }
	return map[string]holdCase{
		"write without a hold":    {"reload-2", "write", hurried},
		"write of a taken host":   {"restart-2", "write", hurried},
		"staging that is ordered": {"", "stage", stagesOn},
	}
}

// stagesOn lets a staging continue when somebody takes a hold.
func stagesOn(site *simulator.Site, _ *rollout.Run) {
	changeAll(site, func(t *simulator.Traits) { t.StagesOn = true })
}

func (m holdCase) runCase(sabotage func(*simulator.Site, *rollout.Run)) (site *simulator.Site, b *simulator.Bastion, end event.RunEnd) {
	if m.word == "" {
		site = newSite(simulator.Fleet(0, 1))
	} else {
		site = wantingOf(noOS(simulator.Fleet(0, 1)), m.word)
	}
	changeAll(site, func(t *simulator.Traits) { t.Upload, t.Stage = time.Minute, time.Minute })
	b = site.Bastion("run-1")
	holdDuring(site, b, m.step)
	end = applyRun(b, func(r *rollout.Run) {
		if sabotage != nil {
			sabotage(site, r)
		}
	})
	return site, b, end
}

// TestHoldInTheMiddle checks that nothing of an upload or a staging is written
// after a person took a hold during it. The hold stays, and the run reports the
// host as held.
func TestHoldInTheMiddle(t *testing.T) {
	for name, m := range holdCases() {
		t.Run(name, func(t *testing.T) {
			failOnErrors(t, runInBubble(t, func() error {
				site, b, end := m.runCase(nil)
				st, hold := site.Host("worker-0").State(), site.Host("worker-0").Hold()
				says := func(e event.Event) bool {
					return e.Host == "worker-0" && e.Failure != nil && strings.Contains(e.Failure.Cause+e.Message, "disk swap")
				}
				var errs []error
				switch {
				case st.Writes > 0 || st.Disk != "none-1" && m.word != "":
					errs = append(errs, fmt.Errorf("it was written: %q", st.Disk))
				case st.Staged != "" || st.Staging:
					errs = append(errs, fmt.Errorf("it was staged: %+v", st))
				case len(st.Reboots) > 0:
					errs = append(errs, errors.New("it was rebooted"))
				case hold == nil || hold.Holder != "bob@b9":
					errs = append(errs, fmt.Errorf("the hold is %v", hold))
				case end.Exit == engine.ExitOK:
					errs = append(errs, errors.New("all is well, it says"))
				case !slices.ContainsFunc(b.Events(), says) && !strings.Contains(findingsText(end), "held"):
					errs = append(errs, fmt.Errorf("nothing says who holds it: %s\n%s", findingsText(end), siteTranscript(site, []*simulator.Bastion{b})))
				}
				return errors.Join(append(errs, checkLaws(site))...)
			}))
		})
	}
}

// TestHoldInTheMiddleBites disables the checks of holds, and expects a
// violation.
func TestHoldInTheMiddleBites(t *testing.T) {
	for name, m := range holdCases() {
		t.Run(name, func(t *testing.T) {
			failOnErrors(t, runInBubble(t, func() error {
				site, _, _ := m.runCase(m.broken)
				told := func(v string) bool {
					return strings.Contains(v, "arrives on the disk of worker-0, which is held by bob@b9")
				}
				if !slices.ContainsFunc(site.Violations(), told) {
					return fmt.Errorf("no law was broken: %v", site.Violations())
				}
				return nil
			}))
		})
	}
}

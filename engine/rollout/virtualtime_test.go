package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// endless is longer than any run in virtual time.
const endless = 48 * time.Hour

// runInBubble runs f with virtual time and returns its error, because a
// property of rapid must fail outside of the bubble.
func runInBubble(t *testing.T, f func() error) (err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { err = f() })
	return err
}

// newSite returns a site whose operations take time.
func newSite(inv engine.Inventory) *simulator.Site {
	site := simulator.New(inv, simulator.V1)
	for _, h := range site.Hosts() {
		h.Change(func(t *simulator.Traits) {
			t.Stage, t.Shutdown, t.Boot, t.Settle = 30*time.Second, 2*time.Second, time.Minute, 10*time.Second
		})
	}
	return site
}

// applyRun applies a run, with a time limit.
func applyRun(b *simulator.Bastion, change ...func(*rollout.Run)) event.RunEnd {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endless, errors.New("there is no end to it"))
	defer cancel()
	r := b.Run()
	r.Interval = 5 * time.Second
	for _, c := range change {
		c(r)
	}
	end := b.Apply(ctx, r)
	if ctx.Err() != nil {
		end.Verdict.Failures = append(end.Verdict.Failures, engine.Failure{Cause: "there is no end to it"})
	}
	return end
}

// findingsText returns everything that a run found, each failed host once.
func findingsText(end event.RunEnd) string {
	v := end.Verdict
	parts := []string{report.EndText(end)}
	failed := map[string]bool{}
	for _, f := range v.Failures {
		failed[f.Host] = true
		parts = append(parts, f.Error())
	}
	parts = append(parts, v.Refusals...)
	for _, u := range v.Unfinished {
		parts = append(parts, u.String())
	}
	for _, u := range v.UnhealthyClusters {
		parts = append(parts, u.String())
	}
	for _, x := range v.Excluded {
		if x.Kind != engine.Failed || !failed[x.Host] {
			parts = append(parts, fmt.Sprintf("%s is %s (%s)", x.Host, x.Kind, x.Reason))
		}
	}
	parts = append(parts, v.Drift...)
	if b := end.SpentBudget; b != nil {
		parts = append(parts, fmt.Sprintf("%d hosts have failed, more than the failure budget of %s%s allows", b.Failed, b.Pool, b.Play))
	}
	return strings.Join(parts, "; ")
}

// checkEnd compares exit code and findings of a run.
func checkEnd(end event.RunEnd, exit engine.ExitCode, words ...string) error {
	reason := findingsText(end)
	if end.Exit != exit {
		return fmt.Errorf("exit %d (%s), not %d", end.Exit, reason, exit)
	}
	for _, w := range words {
		if !strings.Contains(reason, w) {
			return fmt.Errorf("the reason is %q, without %q", reason, w)
		}
	}
	return nil
}

// checkLaws returns the broken laws.
func checkLaws(site *simulator.Site) error {
	if v := site.Violations(); len(v) > 0 {
		return errors.New(v[0])
	}
	return nil
}

// checkConverged checks that every host runs the new OS after one reboot, is
// healthy and is not held.
func checkConverged(site *simulator.Site) error {
	errs := []error{checkLaws(site)}
	for _, h := range site.Hosts() {
		errs = append(errs, checkUpdated(h))
	}
	return errors.Join(errs...)
}

func checkUpdated(h *simulator.Host) error {
	st := h.State()
	switch {
	case st.Booted != simulator.V2 || !st.Well:
		return fmt.Errorf("%s is not updated: %+v", h.Name, st)
	case len(st.Reboots) != 1:
		return fmt.Errorf("%s was rebooted %d times", h.Name, len(st.Reboots))
	}
	return checkFree(h)
}

// checkUntouched checks that the host runs its old OS, never went down, and is not held.
func checkUntouched(h *simulator.Host) error {
	if st := h.State(); st.Booted != simulator.V1 || st.Boots != 1 || len(st.Reboots) > 0 {
		return fmt.Errorf("%s was touched: %+v", h.Name, st)
	}
	return checkFree(h)
}

func checkFree(h *simulator.Host) error {
	if h.State().Drained {
		return fmt.Errorf("%s is drained", h.Name)
	}
	if hold := h.Hold(); hold != nil {
		return fmt.Errorf("%s is %s", h.Name, hold)
	}
	return nil
}

// checkHeldFor checks that the run holds the host, with these words in the
// reason.
func checkHeldFor(h *simulator.Host, run string, words ...string) error {
	hold := h.Hold()
	if hold == nil || hold.Run != run {
		return fmt.Errorf("%s is not held by %s: %v", h.Name, run, hold)
	}
	for _, w := range words {
		if !strings.Contains(hold.Reason, w) {
			return fmt.Errorf("%s is held for %q, without %q", h.Name, hold.Reason, w)
		}
	}
	return nil
}

// successorOf returns an option that passes the journals of earlier runs of the
// same bastion to a run.
func successorOf(earlier ...*simulator.Bastion) func(*rollout.Run) {
	return func(r *rollout.Run) { simulator.Inherit(r, earlier...) }
}

func failOnErrors(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// workerFleet returns an inventory of workers only.
func workerFleet(n int, say func(*engine.Pool)) engine.Inventory {
	inv := simulator.Fleet(0, n)
	say(&inv.Pools[1])
	return inv
}

// rebootMinutes returns the minute of the run in which each host was ordered to reboot.
func rebootMinutes(b *simulator.Bastion) map[string]int {
	at := map[string]int{}
	for _, e := range b.Events() {
		if e.Type == event.StepStarted && e.Step == "reboot" {
			at[e.Host] = int(e.Time.Sub(b.Events()[0].Time).Minutes())
		}
	}
	return at
}

// rebootedHosts returns the hosts that were ordered to reboot, in order.
func rebootedHosts(b *simulator.Bastion) []string {
	var names []string
	for _, e := range b.Events() {
		if e.Type == event.StepStarted && e.Step == "reboot" {
			names = append(names, e.Host)
		}
	}
	return names
}

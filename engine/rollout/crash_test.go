package rollout_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/longtest"
	"holdfast/engine/simulator"
)

// interruptionPoints returns the events and calls of a run without incidents,
// except samples of etcd and paces. Call.N is the number of a call among the
// calls of its kind.
func (p playFixture) interruptionPoints(t *testing.T) (events []event.Event, calls []simulator.Call) {
	t.Helper()
	failOnErrors(t, runInBubble(t, func() error {
		b := p.site().Bastion("run-1")
		end := applyRun(b, runSerially)
		for _, e := range b.Events() {
			if e.Type != event.EtcdSampled {
				events = append(events, e)
			}
		}
		nth := countRepeats()
		for _, c := range b.Calls() {
			if look := c.Verb == "probe" || c.Verb == "observe"; c.Verb != "sample" && c.Verb != "pace" && !(p.brief && look) {
				c.N = nth(c)
				calls = append(calls, c)
			}
		}
		return checkEnd(end, engine.ExitOK)
	}))
	every := longtest.Choose(quickMoments, usualMoments, 1)
	return thinOut(events, every), thinOut(calls, every)
}

// thinOut keeps the first element of every group of that size.
func thinOut[T any](list []T, every int) []T {
	var kept []T
	for i := 0; i < len(list); i += every {
		kept = append(kept, list[i])
	}
	return kept
}

// doAtEvent calls do once the event with that number is journaled.
func doAtEvent(b *simulator.Bastion, seq int, do func()) {
	b.Watch = func(e event.Event) {
		if e.Seq == seq {
			do()
		}
	}
}

// countRepeats counts the calls of each kind to each host and cluster, because
// the order of the hosts of a batch is random.
func countRepeats() func(simulator.Call) int {
	var mu sync.Mutex
	seen := map[simulator.Call]int{}
	return func(c simulator.Call) int {
		mu.Lock()
		defer mu.Unlock()
		c.N = 0
		seen[c]++
		return seen[c]
	}
}

// faultAt causes a fault at a call.
func faultAt(b *simulator.Bastion, call simulator.Call, f simulator.Fault) {
	nth := countRepeats()
	b.Fault = func(c simulator.Call) simulator.Fault {
		if c.N = nth(c); c == call {
			return f
		}
		return simulator.NoFault
	}
}

// TestKilled kills a run after every event and after every call. The next run
// of the same bastion finishes, whether it begins at once or after a pause: the
// test assigns the pauses to the events in turn.
func TestKilled(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, calls := p.interruptionPoints(t)
		pauses := []time.Duration{0, 30 * time.Second, time.Hour}
		if p.brief {
			pauses = pauses[1:2]
		}
		for n, pause := range pauses {
			for i, e := range events {
				if i%len(pauses) != n && !longtest.On() {
					continue
				}
				p.checkKilled(t, pause, eventLabel(e), func(b *simulator.Bastion) { doAtEvent(b, e.Seq, b.Kill) })
			}
		}
		for _, c := range calls {
			p.checkKilled(t, 0, fmt.Sprintf("after call %+v", c), func(b *simulator.Bastion) { faultAt(b, c, simulator.KillAfter) })
		}
	})
}

// eventLabel names an event as the moment of an incident.
func eventLabel(e event.Event) string {
	return fmt.Sprintf("after event %d, %s %s %s", e.Seq, e.Type, e.Host, e.Step)
}

func (p playFixture) checkKilled(t *testing.T, pause time.Duration, when string, kill func(*simulator.Bastion)) {
	t.Helper()
	err := runInBubble(t, func() error {
		site := p.site()
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		kill(first)
		applyRun(first, runSerially)
		time.Sleep(pause)
		end := applyRun(second, runSerially, successorOf(first))
		if err := errors.Join(checkEnd(end, engine.ExitOK), p.done(site)); err != nil {
			return fmt.Errorf("%w\nfirst\n%s\nsecond\n%s", err, runTranscript(first), runTranscript(second))
		}
		return nil
	})
	if err != nil {
		t.Errorf("killed %s, and again after %s: %v", when, pause, err)
	}
}

// TestKilledElsewhere kills a run after every event. A run of another bastion,
// which cannot know that the first run is dead, respects its hold until the
// hold has expired.
func TestKilledElsewhere(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, _ := p.interruptionPoints(t)
		for _, e := range events {
			err := runInBubble(t, func() error {
				site := p.site()
				first := site.Bastion("run-1")
				doAtEvent(first, e.Seq, first.Kill)
				applyRun(first, runSerially)
				time.Sleep(5 * time.Minute)
				return p.checkOtherBastion(site)
			})
			if err != nil {
				t.Errorf("killed %s: %v", eventLabel(e), err)
			}
		}
	})
}

func (p playFixture) checkOtherBastion(site *simulator.Site) error {
	for _, h := range site.Hosts() {
		hold := h.Hold()
		if hold == nil {
			continue
		}
		before := h.State()
		end := applyRun(site.Bastion("run-2"))
		if err := errors.Join(checkEnd(end, engine.ExitRefused, h.Name), checkHeldFor(h, "run-1")); err != nil {
			return err
		}
		if after := h.State(); fmt.Sprint(after) != fmt.Sprint(before) {
			return fmt.Errorf("%s is held by another bastion and was %+v, now %+v", h.Name, before, after)
		}
		time.Sleep(time.Until(hold.Expires) + time.Minute)
	}
	return errors.Join(checkEnd(applyRun(site.Bastion("run-3")), engine.ExitOK), p.done(site))
}

// TestKilledForGood checks a host that a dead run was rebooting and that never
// comes back. The next run waits for it once, counts it as failed, and updates the
// others as far as the budgets of the pool allow.
func TestKilledForGood(t *testing.T) {
	inv := simulator.Fleet(0, 6)
	inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 2}
	inv.Pools[1].FailureBudget = engine.CountOrPercent{Count: 1, Set: true}
	failOnErrors(t, runInBubble(t, func() error {
		site := newSite(inv)
		first, second := site.Bastion("run-1"), site.Bastion("run-2")
		site.Host("worker-0").Change(func(t *simulator.Traits) { t.NoReturn = true })
		first.Watch = func(e event.Event) {
			if e.Host == "worker-0" && e.Step == "wait for boot" {
				first.Kill()
			}
		}
		applyRun(first, runSerially)
		began := time.Now()
		errs := []error{checkEnd(applyRun(second, successorOf(first)), engine.ExitFailed, "worker-0 is lost", "the change of run run-1 has not succeeded on it")}
		for _, h := range site.Hosts()[1:] {
			errs = append(errs, checkMatching(h))
		}
		if took := time.Since(began); took > 40*time.Minute {
			errs = append(errs, fmt.Errorf("it took %s", took))
		}
		return errors.Join(append(errs, checkLaws(site))...)
	}))
}

// TestPowerCut cuts the power of a host after every event: of the event's own
// host after each event, and of the other hosts in turn. The host boots by
// itself. The end of the run must be true, and the next run finishes.
func TestPowerCut(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		events, _ := p.interruptionPoints(t)
		hosts := p.site().Inventory.Hosts
		for n, h := range hosts {
			for i, e := range events {
				turn := i%len(hosts) == n || longtest.On()
				if e.Host != h.Name && (p.brief || !turn) {
					continue
				}
				if err := runInBubble(t, func() error { return p.checkPowerCut(h.Name, e) }); err != nil {
					t.Errorf("power of %s cut %s: %v", h.Name, eventLabel(e), err)
				}
			}
		}
	})
}

func (p playFixture) checkPowerCut(host string, e event.Event) error {
	site := p.site()
	first, second := site.Bastion("run-1"), site.Bastion("run-2")
	doAtEvent(first, e.Seq, site.Host(host).Reset)
	end := applyRun(first, runSerially)
	errs := []error{checkLaws(site)}
	if end.Exit != engine.ExitFailed && end.Exit != engine.ExitUnreachable {
		errs = append(errs, checkEnd(end, engine.ExitOK))
	}
	time.Sleep(10 * time.Minute)
	errs = append(errs, checkEnd(applyRun(second, runSerially, successorOf(first)), engine.ExitOK), checkLaws(site))
	for _, h := range site.Hosts() {
		errs = append(errs, checkMatching(h))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nfirst\n%s\nsecond\n%s", err, runTranscript(first), runTranscript(second))
	}
	return nil
}

package rollout_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hosttest"
	"holdfast/engine/rollout"
)

// TestAnything runs apply in random worlds with random troubles, repairs what
// is broken, and runs it again. No law is ever broken; every run ends as it
// says, with each host as it says; and a run without trouble finishes.
func TestAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := anyWorld(rt)
		if err := inBubble(t, func() error { return w.play() }); err != nil {
			rt.Fatalf("%v\nin %s", err, w)
		}
	})
}

func (w randomWorld) play() error {
	site := newSite(w.inv)
	for _, name := range w.updated {
		site.Host(name).Boot(hosttest.V2)
	}
	for name, word := range w.had {
		if word != "" {
			site.Host(name).Set(word)
		}
	}
	past := &past{awaited: map[string]string{}}
	for i, troubles := range w.troubles {
		w.begin(site, i)
		d := newDrama(site, fmt.Sprintf("run-%d", i+1), troubles)
		d.play(past)
		if err := errors.Join(lawful(site), d.verify()); err != nil {
			return fmt.Errorf("%w\n%s", err, story(d.run))
		}
		past.add(d.run)
		time.Sleep(w.pause)
	}
	repair(site)
	w.begin(site, len(w.troubles))
	b := site.Bastion("run-last")
	end := apply(b, serially, past.inherited)
	exit, errs := engine.ExitOK, []error{lawful(site)}
	for _, h := range site.Hosts() {
		if reported(site, h) {
			exit, errs = engine.ExitWork, append(errs, free(h))
		} else {
			errs = append(errs, matching(h))
		}
	}
	errs = append(errs, ended(end, exit))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("the last run: %w\n%s", err, story(b))
	}
	return nil
}

// repair brings back everything that trouble took away.
func repair(site *hosttest.Site) {
	for _, h := range site.Hosts() {
		h.Change(func(t *hosttest.Traits) {
			*t = hosttest.Traits{Stage: t.Stage, Shutdown: t.Shutdown, Boot: t.Boot, Settle: t.Settle}
		})
		h.Heal()
		h.PowerOn()
		if h.State().Member {
			h.StartEtcd()
		}
		h.StartUnits()
		if hold := h.Hold(); hold != nil && hold.Run == "bobs" {
			h.SetHold(nil)
		}
	}
	time.Sleep(5 * time.Minute)
}

// reported: somebody has edited the host, and its pool only reports that.
func reported(site *hosttest.Site, h *hosttest.Host) bool {
	for _, host := range site.Inventory.Hosts {
		if pool, _ := site.Inventory.Pool(host.Pool); host.Name == h.Name {
			return h.State().Drifted && pool.Drift == engine.ReportDrift
		}
	}
	return false
}

// past is what the next run of the bastion inherits.
type past struct {
	dead    []string
	awaited map[string]string
}

func (p *past) add(b *hosttest.Bastion) {
	p.dead = append(p.dead, b.ID)
	for host, run := range inFlight(b) {
		p.awaited[host] = run
	}
}

func (p *past) inherited(r *rollout.Run) { r.Dead, r.Awaited = p.dead, p.awaited }

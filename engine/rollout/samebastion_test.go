package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/simulator"
)

// overlap is a second run that begins on a bastion while its first run
// continues.
type overlap struct {
	inv    engine.Inventory
	delays []int         // durations of the calls of the first run, in seconds
	later  time.Duration // when the second run begins
	killed int           // call at which the first run is killed; 0: never
	noLock bool
}

// TestTwoRunsOfOneBastion checks that a run does not begin while another run of
// the same bastion continues, at any time and after any call, because it would
// adopt the holds of that run. After the first run has ended or died, the
// second run begins, and no host is held at its end.
func TestTwoRunsOfOneBastion(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		o := overlap{
			inv:    simulator.Fleet(3, rapid.IntRange(0, 2).Draw(rt, "workers")),
			delays: rapid.SliceOfN(rapid.IntRange(0, 3), 8, 8).Draw(rt, "delays"),
			later:  time.Duration(rapid.IntRange(1, 1200).Draw(rt, "later")) * time.Second,
			killed: rapid.IntRange(0, 60).Draw(rt, "killed at call"),
		}
		if err := runInBubble(t, func() error { return o.apply(t.TempDir()) }); err != nil {
			rt.Fatal(err)
		}
	})
}

// apply carries out both runs, and repeats the second run when the first is
// over.
func (o overlap) apply(dir string) error {
	site := newSite(o.inv)
	machine := simulator.Machine{Dir: dir, NoLock: o.noLock}
	first, second := site.Bastion("run-1"), site.Bastion("run-2")
	first.Latency = func(c simulator.Call) time.Duration { return time.Duration(o.delays[c.N%len(o.delays)]) * time.Second }
	first.Fault = func(c simulator.Call) simulator.Fault {
		if c.N == o.killed {
			return simulator.KillAfter
		}
		return simulator.NoFault
	}
	var wg conc.WaitGroup
	var end, next event.RunEnd
	var err, refused error
	over := make(chan struct{})
	wg.Go(func() {
		end, err = applyOn(machine, first)
		close(over)
	})
	wg.Go(func() {
		time.Sleep(o.later)
		if next, refused = applyOn(machine, second); refused == nil {
			return
		}
		if len(second.Calls()) > 0 || len(second.Events()) > 0 {
			refused = fmt.Errorf("the run is refused, and has made %d calls", len(second.Calls()))
			return
		}
		busy := new(journal.BusyError)
		if !errors.As(refused, &busy) || busy.By.Run != "run-1" {
			return
		}
		<-over
		next, refused = applyOn(machine, second)
	})
	wg.Wait()
	errs := []error{err, refused, checkLaws(site), checkEnd(next, engine.ExitOK)}
	if o.killed == 0 {
		errs = append(errs, checkEnd(end, engine.ExitOK))
	}
	for _, h := range site.Hosts() {
		errs = append(errs, checkMatching(h))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nfirst\n%s\nsecond\n%s", err, runTranscript(first), runTranscript(second))
	}
	return nil
}

func applyOn(m simulator.Machine, b *simulator.Bastion) (event.RunEnd, error) {
	ctx, cancel := context.WithTimeout(context.Background(), endless)
	defer cancel()
	r := b.Run()
	r.Interval = 5 * time.Second
	end, err := m.Apply(ctx, b, r)
	return end, err
}

// TestTwoRunsOfOneBastionBite lets the second run begin without the lock, and
// expects that it adopts a hold of the first run, which still continues.
func TestTwoRunsOfOneBastionBite(t *testing.T) {
	err := runInBubble(t, func() error {
		return overlap{inv: simulator.Fleet(3, 1), delays: []int{1}, later: 150 * time.Second, noLock: true}.apply(t.TempDir())
	})
	if err == nil || !strings.Contains(err.Error(), "is taken over although that run lives") {
		t.Errorf("no law is broken that says so: %v", err)
	}
}

package simulator

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// The laws about playbooks.

// Asked has the options of a run that laws depend on.
type Asked struct {
	Over  bool          // another OS may follow an unfinished roll-out
	Retry []string      // hosts that failed last time
	Plays []engine.Play // as NewPlay takes them

	Orders map[string]engine.Order // of pools, in place of the inventory's
}

func askedOf(r *rollout.Run) *Asked {
	a := &Asked{Over: r.OverIncomplete, Retry: r.Retry, Orders: map[string]engine.Order{}}
	for _, p := range r.Inventory.Pools {
		a.Orders[p.Name] = p.Order
	}
	return a
}

// followed is the progress that a run has reported.
type followed struct {
	reached map[string]bool       // hosts that were reached at the last gather
	play    int                   // its number, from 0; -1: none has begun
	batches int                   // of that play
	batch   []string              // hosts of the last one
	taken   map[string]bool       // hosts of all of them
	ended   map[string]bool       // hosts whose outcome was reported
	queues  map[string]*poolQueue // of the last batch, by pool
}

func newFollowed() followed {
	return followed{play: -1, reached: map[string]bool{}, taken: map[string]bool{}, ended: map[string]bool{}}
}

func (b *Bastion) followEvent(e engine.Event) {
	f := &b.followed
	switch e.Type {
	case engine.HostsGathered:
		for _, h := range b.site.all {
			f.reached[h.Name] = !b.seen[h.Name].Before(e.Time.Add(-time.Duration(e.Took)))
		}
	case engine.Planned:
		b.lawPlay(e.Plan.Play)
		f.play++
		f.batches, f.taken = 0, map[string]bool{}
		if f.play > 0 {
			b.reports.plan, b.reports.done = map[string]bool{}, map[string]time.Time{}
		}
	case engine.BatchStarted:
		f.batch = e.Hosts
		for _, host := range f.batch {
			delete(f.ended, host)
		}
		b.lawSerial()
		b.buildQueues()
		for _, host := range f.batch {
			f.taken[host] = true
		}
		f.batches++
	case engine.HostDone, engine.HostFailed:
		f.ended[e.Host] = true
	}
}

func (b *Bastion) currentPlay() *engine.Play {
	if n := b.followed.play; n >= 0 && n < len(b.asked.Plays) {
		return &b.asked.Plays[n]
	}
	return nil
}

// lawPlay checks that plays run in order, and a play begins when every host of the play before it
// is done or has failed.
func (b *Bastion) lawPlay(name string) {
	next := b.followed.play + 1
	if len(b.asked.Plays) > 0 && (next >= len(b.asked.Plays) || b.asked.Plays[next].Name != name) {
		b.reportViolation("play %q is not the one that follows", name)
	}
	for _, host := range b.followed.batch {
		if !b.followed.ended[host] {
			b.reportViolation("play %q begins, and the one before it is not over on %s", name, host)
		}
	}
}

// lawSerial checks that a batch of a play is no larger than its serial.
func (b *Bastion) lawSerial() {
	play := b.currentPlay()
	if play == nil || len(play.Serial) == 0 {
		return
	}
	limit := play.Serial[min(b.followed.batches, len(play.Serial)-1)].Of(len(b.site.hostsOfPlay(*play)))
	if n := len(b.followed.batch); n > limit {
		b.reportViolation("batch %d of play %q has %d hosts, its serial is %d", b.followed.batches+1, play.Name, n, limit)
	}
}

func (s *Site) hostsOfPlay(play engine.Play) (hosts []*Host) {
	for _, h := range s.all {
		if selectsHost(play, h.host) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

func (b *Bastion) lawTask(h *Host, name string, now time.Time) {
	play := b.currentPlay()
	if play == nil || !selectsHost(*play, h.host) {
		b.reportViolation("%s is none of the hosts of the play, and gets %s", h.Name, name)
	}
	b.lawPaused(h)
	b.lawJournaled(h, name)
	if name == DisruptingCommand {
		b.lawDisrupt(h, false, now)
	}
	b.site.addToLog("%s does %s for %s", b.ID, name, h.Name)
}

// isSatisfied reports whether the host matches, as far as the run or the play concerns it.
func (b *Bastion) isSatisfied(h *Host) bool {
	play := b.currentPlay()
	if play == nil {
		return h.matchesDesired()
	}
	_, done := b.reports.done[h.Name]
	deeds := slices.ContainsFunc(play.Tasks, func(t engine.Task) bool { return disruptsHost(t) }) || playOperations{*play}.isNonDisruptive()
	return !selectsHost(*play, h.host) ||
		(!play.Has(engine.FinalizeTask) || h.runsIt()) && (!play.Has(engine.ConfigTask) || h.isSet()) && (!deeds || done)
}

func (b *Bastion) isUnderstood(h *Host) bool {
	play := b.currentPlay()
	if play == nil || play.Has(engine.StageTask) || play.Has(engine.FinalizeTask) || play.Has(engine.ConfigTask) {
		return b.reports.clear[h.Name]
	}
	return b.followed.reached[h.Name]
}

func (b *Bastion) spentPlayBudgets(play engine.Play) map[string]string {
	failed, all := map[string]int{}, 0
	hosts := b.site.hostsOfPlay(play)
	for _, h := range hosts {
		if b.reports.failed[h.Name] {
			failed[h.host.Pool]++
			all++
		}
	}
	spent := map[string]string{}
	for _, h := range hosts {
		p, _ := b.site.Inventory.Pool(h.host.Pool)
		n, most, of := failed[p.Name], failureLimit(p.FailureBudget, b.site.poolSize(p.Name)), "pool "+p.Name
		switch {
		case play.AnyFatal:
			n, most, of = all, 0, "play "+play.Name
		case play.MaxFail != nil:
			n, most, of = all, failureLimit(*play.MaxFail, len(hosts)), "play "+play.Name
		}
		if n > most {
			spent[p.Name] = fmt.Sprintf("%d hosts of %s have failed, of which %d may", n, of, most)
		}
	}
	return spent
}

func failureLimit(l engine.CountOrPercent, n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

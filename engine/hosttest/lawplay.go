package hosttest

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// The laws about playbooks.

// Asked is what a run was asked to do otherwise than to make every host match,
// as far as laws are about that.
type Asked struct {
	Over  bool          // another OS may follow a roll-out that is not finished
	Retry []string      // hosts that failed last time
	Plays []engine.Play // as NewPlay takes them

	Orders map[string]engine.Order // of pools, in place of the inventory's
}

// askedOf is what a run is told.
func askedOf(r *rollout.Run) *Asked {
	a := &Asked{Over: r.OverIncomplete, Retry: r.Retry, Orders: map[string]engine.Order{}}
	for _, p := range r.Inventory.Pools {
		a.Orders[p.Name] = p.Order
	}
	return a
}

// followed is what a run has said about how far it is.
type followed struct {
	reached map[string]bool       // hosts that the last look has reached
	play    int                   // its number, from 0; -1: none has begun
	batches int                   // of that play
	batch   []string              // hosts of the last one
	taken   map[string]bool       // hosts of all of them
	ended   map[string]bool       // hosts of which it was said how they ended
	queues  map[string]*poolQueue // of the last batch, by pool
}

func newFollowed() followed {
	return followed{play: -1, reached: map[string]bool{}, taken: map[string]bool{}, ended: map[string]bool{}}
}

// followEvent keeps what an event says.
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

// currentPlay is the play that is being carried out, or nil.
func (b *Bastion) currentPlay() *engine.Play {
	if n := b.followed.play; n >= 0 && n < len(b.asked.Plays) {
		return &b.asked.Plays[n]
	}
	return nil
}

// lawPlay: plays follow each other as they are written, and none begins before
// the one before it is over: all that it has begun is done, or has failed.
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

// lawSerial: a batch of a play has no more hosts than its serial says.
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

// hostsOfPlay are the hosts of a play.
func (s *Site) hostsOfPlay(play engine.Play) (hosts []*Host) {
	for _, h := range s.all {
		if selectsHost(play, h.host) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// lawTask is asked when a command of a play runs.
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

// isSatisfied reports whether the host is as the run, or the play, is to make it;
// hosts of other plays are.
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

// isUnderstood reports whether the last look has shown the host to be as it was, as
// far as the run, or the play, wants to know.
func (b *Bastion) isUnderstood(h *Host) bool {
	play := b.currentPlay()
	if play == nil || play.Has(engine.StageTask) || play.Has(engine.FinalizeTask) || play.Has(engine.ConfigTask) {
		return b.reports.clear[h.Name]
	}
	return b.followed.reached[h.Name]
}

// spentPlayBudgets says in which pools no more hosts may be begun, because of those of
// the play that have failed.
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

// failureLimit is how many of n hosts may fail.
func failureLimit(l engine.CountOrPercent, n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

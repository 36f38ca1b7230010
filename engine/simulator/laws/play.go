package laws

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// This file has the laws about playbooks.

// followed is the progress that a run has reported.
type followed struct {
	reached  map[string]bool       // hosts that were reached at the last gather
	play     int                   // number of the play, from 0; -1: no play has begun
	batches  int                   // number of batches of that play
	batch    []string              // hosts of the last batch
	taken    map[string]bool       // hosts of all batches
	ended    map[string]bool       // hosts whose outcome was reported
	queues   map[string]*poolQueue // queues of the last batch, by pool
	absent   map[string]bool       // hosts whose node took no work when the last batch began
	notReady map[string]bool       // of these, hosts whose node was not Ready
	bad      map[string]bool       // hosts whose state was not understood, or that had rejected their OS, at each gather since the play was planned
}

func newFollowed() followed {
	return followed{play: -1, reached: map[string]bool{}, taken: map[string]bool{}, ended: map[string]bool{}, bad: map[string]bool{}}
}

func (r *Run) followEvent(e event.Event) {
	f := &r.followed
	switch e.Type {
	case event.HostsGathered:
		for _, h := range r.observer.Hosts {
			f.reached[h.Name] = r.hasReached(h, e)
		}
	case event.Planned:
		r.checkPlay(e.Plan.Play)
		f.play++
		f.bad = maps.Clone(r.reports.bad)
		f.batches, f.taken = 0, map[string]bool{}
		if f.play > 0 {
			r.reports.plan, r.reports.done = map[string]bool{}, map[string]time.Time{}
		}
	case event.BatchStarted:
		f.batch = e.Hosts
		for _, host := range f.batch {
			delete(f.ended, host)
		}
		r.checkSerial()
		r.buildQueues()
		for _, host := range f.batch {
			f.taken[host] = true
		}
		f.batches++
	case event.HostDone, event.HostFailed:
		f.ended[e.Host] = true
	default: // no law about plays needs the other events
	}
}

// hasReached reports whether the run has reached the host in the gather that the event
// ends. A probe of a step may have reached it at the moment at which the gather began. The
// event rounds the time that the gather took to milliseconds.
func (r *Run) hasReached(h *Host, gathered event.Event) bool {
	begin, seen, missed := gathered.Time.Add(-time.Duration(gathered.Took)-time.Millisecond), r.seen[h.Name], r.missed[h.Name]
	return !seen.Before(begin) && (missed.Before(begin) || seen.After(missed))
}

func (r *Run) currentPlay() *engine.Play {
	if n := r.followed.play; n >= 0 && n < len(r.asked.Plays) {
		return &r.asked.Plays[n]
	}
	return nil
}

// checkPlay checks that plays run in order, that a play begins only after
// every host of the previous play is done or has failed, and that no more hosts
// have failed than the failure budgets of the previous play allow.
func (r *Run) checkPlay(name string) {
	if play := r.currentPlay(); play != nil && play.Has(engine.FinalizeTask) && (play.AnyErrorsFatal || !r.best) {
		bad := func(h *Host) bool { // the play compares the OS, if the pool has one
			return r.followed.bad[h.Name] && selectsHost(*play, h) && r.observer.poolOf(h).OS != nil
		}
		for _, spent := range r.spentBudgetsOf(*play, func(h *Host) bool { return r.reports.failed[h.Name] || bad(h) }) {
			r.reportViolation("%s, and play %q begins", spent, name)
		}
	}
	next := r.followed.play + 1
	if len(r.asked.Plays) > 0 && (next >= len(r.asked.Plays) || r.asked.Plays[next].Name != name) {
		r.reportViolation("play %q is not the one that follows", name)
	}
	for _, host := range r.followed.batch {
		if !r.followed.ended[host] {
			r.reportViolation("play %q begins, and the one before it is not over on %s", name, host)
		}
	}
}

func (r *Run) checkSerial() {
	play := r.currentPlay()
	if play == nil || len(play.Serial) == 0 {
		return
	}
	limit := play.Serial[min(r.followed.batches, len(play.Serial)-1)].Of(len(r.observer.hostsOfPlay(*play)))
	if n := len(r.followed.batch); n > limit {
		r.reportViolation("batch %d of play %q has %d hosts, its serial is %d", r.followed.batches+1, play.Name, n, limit)
	}
}

func (w *Observer) hostsOfPlay(play engine.Play) (hosts []*Host) {
	for _, h := range w.Hosts {
		if selectsHost(play, h) {
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// CheckTask checks all laws about a task of a play that is a command. name is
// the name of the task, and disrupts means that it disrupts the host.
func (r *Run) CheckTask(h *Host, name string, disrupts bool) {
	play := r.currentPlay()
	if play == nil || !selectsHost(*play, h) {
		r.reportViolation("%s is none of the hosts of the play, and gets %s", h.Name, name)
	}
	r.CheckPaused(h)
	r.checkJournaled(h, name)
	if disrupts {
		r.checkDisrupt(h, false)
	}
}

// isSatisfied reports whether the host matches, as far as the run or its play
// concerns it.
func (r *Run) isSatisfied(h *Host) bool {
	play := r.currentPlay()
	if play == nil {
		return r.observer.matchesDesired(h)
	}
	_, done := r.reports.done[h.Name]
	deeds := slices.ContainsFunc(play.Tasks, func(t engine.Task) bool { return disruptsHost(t) }) || onlyWorks(*play)
	return !selectsHost(*play, h) ||
		(!play.Has(engine.FinalizeTask) || r.observer.runsDesiredOS(h)) && (!play.Has(engine.ConfigTask) || r.observer.hasDesiredSetting(h)) && (!deeds || done)
}

func (r *Run) isUnderstood(h *Host) bool {
	play := r.currentPlay()
	if play == nil || play.Has(engine.StageTask) || play.Has(engine.FinalizeTask) || play.Has(engine.ConfigTask) {
		return r.reports.clear[h.Name]
	}
	return r.followed.reached[h.Name]
}

// spentPlayBudgets returns the failure budgets that are exceeded. The budget of a pool counts all its hosts that have failed in the
// run, and the budget of a play only its own.
func (r *Run) spentPlayBudgets(play engine.Play) map[string]string {
	return r.spentBudgetsOf(play, func(h *Host) bool { return r.reports.failed[h.Name] })
}

func (r *Run) spentBudgetsOf(play engine.Play, hasFailed func(*Host) bool) map[string]string {
	failed, all := map[string]int{}, 0
	for _, h := range r.observer.Hosts {
		if hasFailed(h) {
			failed[h.Pool]++
		}
	}
	hosts := r.observer.hostsOfPlay(play)
	for _, h := range hosts {
		if hasFailed(h) {
			all++
		}
	}
	spent := map[string]string{}
	for _, h := range hosts {
		p := r.observer.poolOf(h)
		n, most, of := failed[p.Name], failureLimit(p.FailureBudget, r.observer.poolSize(p.Name)), "pool "+p.Name
		switch {
		case play.AnyErrorsFatal:
			n, most, of = all, 0, "play "+play.Name
		case play.MaxFailPercentage != nil:
			n, most, of = all, failureLimit(*play.MaxFailPercentage, len(hosts)), "play "+play.Name
		}
		if n > most {
			spent[p.Name] = fmt.Sprintf("%d hosts of %s have failed, of which %d may", n, of, most)
		}
	}
	return spent
}

func selectsHost(p engine.Play, h *Host) bool {
	return slices.Contains(strings.Split(p.Hosts, ","), h.Pool)
}

func disruptsHost(t engine.Task) bool {
	return t.Module == engine.RebootTask || t.Command != nil && t.Command.Disrupts
}

// onlyWorks reports whether all tasks of a play are non-disruptive commands.
func onlyWorks(p engine.Play) bool {
	return !slices.ContainsFunc(p.Tasks, func(t engine.Task) bool { return t.Command == nil || t.Command.Disrupts })
}

func failureLimit(l engine.CountOrPercent, n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

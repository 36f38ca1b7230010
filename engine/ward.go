package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// ward is a pool and how far it is.
type ward struct {
	Pool
	site    *siteBudget
	first   []*ward // pools that come before it, directly or through others
	limit   int
	waiting int      // hosts with work that are in no batch yet
	missing string   // a selected host that no batch will have, and why
	away    []string // hosts that count as unavailable throughout
	adopted int      // hosts with a left-over hold that are not yet recovered

	degraded []string  // hosts that failed and are not tried again, or those of all pools where a play has a limit of its own
	mayFail  int       // how many of these there may be; -1: any number
	play     string    // whose limit that is; "": the pool's
	closed   bool      // no batch may begin now
	opens    time.Time // when one may; zero: never
	closes   time.Time // when the window closes that is open, too soon for a batch; zero: none is

	canaries int      // hosts that have to match before others follow
	proven   int      // hosts that do
	gone     []string // the first of them, as many as there are canaries
	soaks    Duration // what is left of the time that canaries have to run

	taken int // hosts that the batch being picked disrupts
	zone  int // theirs
}

// siteBudget is what pools share.
type siteBudget struct {
	limit   int // hosts that may be unavailable; 0: any number
	away    int // hosts that are
	adopted int
	taken   int
}

// seats is how many more hosts of the pool the batch may disrupt.
func (w *ward) seats(adopted bool) int { return min(w.poolSeats(adopted), w.site.seats(adopted)) }

func (w *ward) poolSeats(adopted bool) int {
	return room(w.limit, len(w.away), w.adopted, w.taken, adopted)
}

func (s *siteBudget) seats(adopted bool) int {
	if s.limit == 0 {
		return math.MaxInt
	}
	return room(s.limit, s.away, s.adopted, s.taken, adopted)
}

// room is what a budget has left for a host, where so many are away, have a
// left-over hold, and are in the batch. A host with a left-over hold counts as
// unavailable already, so that it takes no seat of others: of those there may
// always be one, else they would stay for ever.
func room(limit, away, leftOver, taken int, adopted bool) int {
	if adopted {
		return max(1, limit-away) - taken
	}
	return limit - away - leftOver - taken
}

// canarySeats is how many more hosts may go before the canaries are proven.
func (w *ward) canarySeats() int {
	if w.proven >= w.canaries {
		return w.limit
	}
	return w.canaries - w.proven - w.taken
}

// waitsFor gives the first pool that must be complete before this one and is
// not, or nil.
func (w *ward) waitsFor() *ward {
	for _, first := range w.first {
		if first.waiting > 0 || first.missing != "" {
			return first
		}
	}
	return nil
}

// isDegraded reports whether more hosts have failed than the pool's failure
// budget allows.
func (w *ward) isDegraded() bool { return w.mayFail >= 0 && len(w.degraded) > w.mayFail }

// degradation says who has failed.
func (w *ward) degradation() string {
	const most = 3
	who := FoldNames(w.degraded)
	if len(who) > most {
		who = append(who[:most:most], "…")
	}
	if w.play != "" {
		return fmt.Sprintf("play %s: failed or not understood: %s; %d of its hosts may (--best-effort goes on with the others)", w.play, strings.Join(who, ", "), w.mayFail)
	}
	return fmt.Sprintf("pool %s: failed or not understood: %s; its failure_budget is %d (--best-effort goes on with the others)", w.Name, strings.Join(who, ", "), w.mayFail)
}

// closing says why no batch of the pool may begin now.
func (w *ward) closing() string {
	if w.opens.IsZero() {
		return fmt.Sprintf("pool %s: no maintenance window is long enough for a batch of %s", w.Name, w.Takes().Trimmed())
	}
	var windows []string
	for _, x := range w.Windows {
		windows = append(windows, x.String())
	}
	loc := w.Windows[0].location()
	why := "outside its maintenance window"
	if !w.closes.IsZero() {
		why = "its maintenance window closes at " + w.closes.In(loc).Format("15:04 MST") + ", too soon"
	}
	return fmt.Sprintf("pool %s: %s for a batch of %s (%s); the next may begin on %s", w.Name, why, w.Takes().Trimmed(), strings.Join(windows, "; "), w.opens.In(loc).Format("Mon 2006-01-02 15:04 MST"))
}

func newWards(in Input, x index, s stock) map[string]*ward {
	wards := map[string]*ward{}
	site := &siteBudget{away: len(s.away)}
	if in.Inventory.MaxUnavailable.Set {
		site.limit = in.Inventory.MaxUnavailable.Of(len(in.Inventory.Hosts))
	}
	for _, p := range in.Inventory.Pools {
		w := &ward{Pool: p, site: site, limit: p.MaxUnavailable.Of(x.sizes[p.Name]), degraded: s.degraded[p.Name], mayFail: in.mayFail(p, x.sizes[p.Name])}
		open, opens := MayBegin(p.Windows, in.Now, p.Takes())
		if w.closed, w.opens = !open, opens; w.closed {
			w.closes, _ = OpenUntil(p.Windows, in.Now)
		}
		if in.ownMayFail() {
			w.degraded, w.play = s.allDegraded(in.Inventory.Pools), in.Play.Name
		}
		w.prove(in.Now, x.sizes[p.Name], s.proven[p.Name])
		wards[p.Name] = w
	}
	for name, w := range wards {
		for _, first := range x.before(name) {
			w.first = append(w.first, wards[first])
		}
	}
	missing := map[string]Why{}
	for _, e := range s.excluded {
		missing[e.Host] = e.Why
	}
	for _, h := range in.Inventory.Hosts {
		w := wards[h.Pool]
		if s.away[h.Name] != "" {
			w.away = append(w.away, h.Name)
		}
		if why := missing[h.Name]; why != "" && w.missing == "" {
			w.missing = h.Name + " is " + string(why)
		}
	}
	return wards
}

// ownMayFail reports whether a play says itself how many of its hosts may fail,
// whichever pools they are in.
func (in Input) ownMayFail() bool {
	return in.Play != nil && (in.Play.AnyFatal || in.Play.MaxFail != nil)
}

// allDegraded gives the hosts of all pools that failed and are not tried again.
func (s stock) allDegraded(pools []Pool) (all []string) {
	for _, p := range pools {
		all = append(all, s.degraded[p.Name]...)
	}
	return all
}

// mayFail is how many hosts of a pool may fail while others are still begun;
// -1: any number.
func (in Input) mayFail(p Pool, hosts int) int {
	switch play := in.Play; {
	case play != nil && play.AnyFatal:
		return 0
	case in.BestEffort:
		return -1
	case play != nil && play.MaxFail != nil:
		return play.MaxFail.Part(in.selected())
	}
	return p.FailureBudget.Part(hosts)
}

// selected counts the hosts that are worked on.
func (in Input) selected() int {
	n := 0
	for _, h := range in.Inventory.Hosts {
		if in.Selected(h) {
			n++
		}
	}
	return n
}

// prove counts the hosts of a pool that match as its canaries, and finds out
// how long they still have to run.
func (w *ward) prove(now time.Time, hosts int, proven []proof) {
	w.proven = len(proven)
	if w.Canary == nil {
		return
	}
	w.canaries = w.Canary.Hosts.Of(hosts)
	slices.SortStableFunc(proven, func(a, b proof) int { return a.at.Compare(b.at) })
	for _, p := range proven[:min(w.canaries, len(proven))] {
		w.gone = append(w.gone, p.host)
	}
	if w.proven < w.canaries || w.canaries == 0 {
		return
	}
	if last := proven[w.canaries-1].at; !last.IsZero() {
		w.soaks = min(w.Canary.Soak, max(0, w.Canary.Soak-Duration(now.Sub(last))))
	}
}

// FailureBudget names the pool or play whose failure budget is used up, so that
// no further batch may begin. It is the zero value if there is none.
type FailureBudget struct {
	Pool string
	Play string // that has a budget of its own, for hosts of all pools
}

// String names the pool or play: pool worker.
func (b FailureBudget) String() string {
	switch {
	case b.Play != "":
		return "play " + b.Play
	case b.Pool != "":
		return "pool " + b.Pool
	}
	return ""
}

// Covers reports whether failures of a host count against the budget.
func (b FailureBudget) Covers(h Host) bool { return b.Play != "" || b.Pool != "" && b.Pool == h.Pool }

// Exhausted returns the budget that allows fewer hosts to fail than have failed
// in this run.
func (in Input) Exhausted() FailureBudget {
	in = in.selecting()
	x := newIndex(in)
	failed, all := map[string]int{}, 0
	for _, h := range in.Inventory.Hosts {
		if _, ok := in.Failed[h.Name]; ok && in.Selected(h) {
			failed[h.Pool]++
			all++
		}
	}
	if in.ownMayFail() {
		if most := in.mayFail(Pool{}, 0); most >= 0 && all > most {
			return FailureBudget{Play: in.Play.Name}
		}
		return FailureBudget{}
	}
	for _, p := range in.Inventory.Pools {
		if most := in.mayFail(p, x.sizes[p.Name]); most >= 0 && failed[p.Name] > most {
			return FailureBudget{Pool: p.Name}
		}
	}
	return FailureBudget{}
}

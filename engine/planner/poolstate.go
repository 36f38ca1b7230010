package planner

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/window"
)

// poolState is the progress of a pool while the planner plays the roll-out forward.
type poolState struct {
	engine.Pool
	site         *siteBudget
	seats        seatCount
	predecessors []*poolState // pools that come before this pool, directly or through others
	waitingHosts int          // hosts with work that are in no batch yet
	excludedHost string       // a selected host that is in no batch, and why
	unavailable  []string     // hosts that count as unavailable in every batch

	failedHosts   []string  // hosts that failed and that the run does not try again; hosts of all pools if the play has a failure budget
	failureBudget int       // how many hosts may fail; -1: any number
	play          string    // play with that failure budget; "": the pool has it
	anyFatal      bool      // the play has any_errors_fatal, which --best-effort does not change
	outsideWindow bool      // no batch may start now
	windowOpens   time.Time // when the next window opens; zero: never
	windowCloses  time.Time // when the open window closes, if that is too soon for a batch; zero: no window is open

	canaries       int             // number of hosts that must match before others follow
	passedCanaries int             // number of hosts that count as passed canaries
	firstCanaries  []string        // the first passed canaries, at most as many as canaries
	soakLeft       engine.Duration // rest of the soak

	logins    *loginTrial
	lostLogin string // a host of the pool whose new login failed in this run; "": none
	trialHost bool   // the batch being picked has a host whose change may prevent logins and is not proved

	batchZone int // zone of the hosts that the batch being picked disrupts
}

func (w *poolState) firstIncompletePredecessor() *poolState {
	for _, first := range w.predecessors {
		if first.waitingHosts > 0 || first.excludedHost != "" {
			return first
		}
	}
	return nil
}

func (w *poolState) describeClosedWindow() string {
	if w.windowOpens.IsZero() {
		return fmt.Sprintf("pool %s: no maintenance window is long enough for a batch of %s", w.Name, w.Takes().Trimmed())
	}
	var windows []string
	for _, x := range w.Windows {
		windows = append(windows, x.String())
	}
	loc := w.Windows[0].TimeZone()
	why := "outside its maintenance window"
	if !w.windowCloses.IsZero() {
		why = "its maintenance window closes at " + w.windowCloses.In(loc).Format("15:04 MST") + ", too soon"
	}
	return fmt.Sprintf("pool %s: %s for a batch of %s (%s); the next may begin on %s", w.Name, why, w.Takes().Trimmed(), strings.Join(windows, "; "), w.windowOpens.In(loc).Format("Mon 2006-01-02 15:04 MST"))
}

func newPoolStates(in Input, x index, s surveyResult) map[string]*poolState {
	states := map[string]*poolState{}
	limits := in.Inventory.UnavailableLimits()
	site := &siteBudget{}
	site.limit = limits[""]
	idle := s.absentHostsWithoutWork()
	for _, p := range in.Inventory.Pools {
		w := &poolState{Pool: p, logins: newLoginTrial(in.LoginProved[p.Name]), site: site, seats: seatCount{limit: limits[p.Name]}, failedHosts: s.failedHosts[p.Name], failureBudget: in.failureBudgetOf(p, x.sizes[p.Name])}
		open, opens := window.MayBegin(p.Windows, in.Now, p.Takes())
		if w.outsideWindow, w.windowOpens = !open, opens; w.outsideWindow {
			w.windowCloses, _ = window.OpenUntil(p.Windows, in.Now)
		}
		if in.playHasFailureBudget() {
			w.failedHosts, w.play, w.anyFatal = s.allDegraded(in.Inventory.Pools), in.Play.Name, in.Play.AnyErrorsFatal
		}
		w.countCanaries(in.Now, x.sizes[p.Name], s.passedCanaries[p.Name])
		for _, matching := range s.passedCanaries[p.Name] {
			w.logins.configs[in.Desired[matching.host].Config] = true
		}
		states[p.Name] = w
	}
	for name, w := range states {
		for _, first := range x.predecessorsOf(name) {
			w.predecessors = append(w.predecessors, states[first])
		}
	}
	missing := map[string]engine.ExclusionKind{}
	for _, e := range s.excluded {
		missing[e.Host] = e.Kind
	}
	for _, h := range in.Inventory.Hosts {
		w := states[h.Pool]
		if in.LoginFailed[h.Name] && w.lostLogin == "" {
			w.lostLogin = h.Name
		}
		if taken := s.unavailable[h.Name] != ""; taken || idle[h.Name] {
			w.addUnavailable(h.Name, !taken && s.absent[h.Name].KeepsPods(), s.held[h.Name])
		}
		if why := missing[h.Name]; why != "" && w.excludedHost == "" {
			w.excludedHost = h.Name + " is " + string(why)
		}
	}
	return states
}

// addWaiting counts a host with work n times in the budgets of pool and site: 1, or -1 once it is updated.
func (w *poolState) addWaiting(p presence, n int) {
	w.seats.addWaiting(p, n)
	w.site.addWaiting(p, n)
}

// addUnavailable counts a host that is unavailable in every batch, in the budgets of pool and site.
func (w *poolState) addUnavailable(host string, works, held bool) {
	w.unavailable = append(w.unavailable, host)
	w.seats.addUnavailable(works, held)
	w.site.addUnavailable(works, held)
}

func (in Input) countSelected() int {
	n := 0
	for _, h := range in.Inventory.Hosts {
		if in.Selected(h) {
			n++
		}
	}
	return n
}

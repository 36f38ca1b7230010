package change_test

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine/etcd/change"
	"holdfast/engine/simulator"
)

// membersHistory is a cluster, and runs that grow and shrink it while others roll an OS out.
type membersHistory struct {
	voters, fresh int
	drained       bool
	budget        int             // max_unavailable of the pool
	lags          []time.Duration // of calls, by turns
	catchUp       time.Duration
	acts          []membersAct

	sabotage func(*change.Run) // of each run that changes members
	paused   bool              // the pool is, and no run knows it

	site *simulator.Site
	runs []*simulator.Bastion
}

// membersAct is a change of members by one bastion, and what happens beside it.
type membersAct struct {
	by, pause int
	wanted    []bool // hosts that are to have a voter
	quota     int64  // of etcd
	second    int    // seconds after which a second bastion changes members as well; -1: never
	rollOut   int    // seconds after which a roll-out begins; -1: never
	knowsAll  bool   // the roll-out knows the new hosts
	incidents []membersIncident
}

// membersIncident happens at a call of a run.
type membersIncident struct {
	kind string
	host int // to which it happens
	run  int // whose calls are counted: those of the change, the second or the roll-out
	on   int // host whose calls are counted; -1: those to the cluster
	at   int
}

var hostIncidents = map[string]func(*simulator.Site, *simulator.Host){
	"power cut":    func(_ *simulator.Site, h *simulator.Host) { h.Reset() },
	"power off":    func(_ *simulator.Site, h *simulator.Host) { h.PowerOff() },
	"away":         func(s *simulator.Site, h *simulator.Host) { h.PowerOff(); s.After(3*time.Minute, h.PowerOn) },
	"cut off":      func(_ *simulator.Site, h *simulator.Host) { h.Cut() },
	"blink":        func(s *simulator.Site, h *simulator.Host) { h.Cut(); s.After(20*time.Second, h.Heal) },
	"etcd stops":   func(_ *simulator.Site, h *simulator.Host) { h.StopEtcd() },
	"etcd pauses":  func(s *simulator.Site, h *simulator.Host) { h.StopEtcd(); s.After(10*time.Second, h.RestartMember) },
	"never starts": func(_ *simulator.Site, h *simulator.Host) { h.Change(func(t *simulator.Traits) { t.NoEtcd = true }) },
	"never ready": func(_ *simulator.Site, h *simulator.Host) {
		h.Change(func(t *simulator.Traits) { t.CatchUp = 1000 * time.Hour })
	},
	"disk lost": func(_ *simulator.Site, h *simulator.Host) { h.LoseData() },
	"new disk":  func(_ *simulator.Site, h *simulator.Host) { h.LoseData(); h.Reset() },
	"alarm":     func(s *simulator.Site, _ *simulator.Host) { s.Alarm(mainCluster, "NOSPACE") },
}

var callIncidents = map[string]simulator.Fault{
	"call lost": simulator.LostThere, "answer lost": simulator.LostBack, "call fails": simulator.Fails,
	"killed before": simulator.KillBefore, "killed after": simulator.KillAfter,
}

func incidentKinds() []string {
	var kinds []string
	for kind := range hostIncidents {
		kinds = append(kinds, kind)
	}
	for kind := range callIncidents {
		kinds = append(kinds, kind, kind)
	}
	slices.Sort(kinds)
	return kinds
}

func drawHistory(t *rapid.T) *membersHistory {
	h := &membersHistory{
		voters:  rapid.SampledFrom([]int{3, 1, 2, 4, 5, 0}).Draw(t, "voters"),
		drained: rapid.Bool().Draw(t, "drained"), budget: rapid.IntRange(1, 3).Draw(t, "budget"),
		catchUp: time.Duration(rapid.SampledFrom([]int{2, 0, 20, 90}).Draw(t, "catch up")) * time.Second,
	}
	h.fresh = rapid.IntRange(max(0, 1-h.voters), 3).Draw(t, "fresh")
	for range 5 {
		h.lags = append(h.lags, time.Duration(rapid.SampledFrom([]int{0, 20, 300, 900}).Draw(t, "lag"))*time.Millisecond)
	}
	for range rapid.IntRange(1, 3).Draw(t, "acts") {
		h.acts = append(h.acts, drawAct(t, h.voters+h.fresh))
	}
	return h
}

func drawAct(t *rapid.T, hosts int) membersAct {
	a := membersAct{
		by: rapid.IntRange(0, 1).Draw(t, "by"), pause: rapid.SampledFrom([]int{0, 60, 10000}).Draw(t, "pause"),
		second: rapid.SampledFrom([]int{-1, -1, 0, 3, 30}).Draw(t, "second"), rollOut: rapid.SampledFrom([]int{-1, 0, 2, 15, 100}).Draw(t, "roll-out"),
		knowsAll: rapid.Bool().Draw(t, "roll-out knows all"),
	}
	for range hosts {
		a.wanted = append(a.wanted, rapid.SampledFrom([]bool{true, true, false}).Draw(t, "wanted"))
	}
	a.quota = rapid.SampledFrom([]int64{0, 0, 4 << 30, 8 << 30}).Draw(t, "quota")
	a.wanted[0] = a.wanted[0] || !slices.Contains(a.wanted, true)
	for range rapid.IntRange(0, 4).Draw(t, "incidents") {
		a.incidents = append(a.incidents, membersIncident{
			kind: rapid.SampledFrom(incidentKinds()).Draw(t, "kind"), host: rapid.IntRange(0, hosts-1).Draw(t, "host"),
			run: rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "run"), on: rapid.IntRange(-1, hosts-1).Draw(t, "on"), at: rapid.IntRange(1, 40).Draw(t, "at"),
		})
	}
	return a
}

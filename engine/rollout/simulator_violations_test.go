package rollout_test

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// hideFromRun makes a run read an inventory that differs from the real one.
func hideFromRun(pool func(*engine.Pool), host func(*engine.Host)) func(*simulator.Site, *rollout.Run) {
	return func(_ *simulator.Site, r *rollout.Run) {
		r.Inventory.Pools, r.Inventory.Hosts = slices.Clone(r.Inventory.Pools), slices.Clone(r.Inventory.Hosts)
		for i := range r.Inventory.Pools {
			if pool != nil {
				pool(&r.Inventory.Pools[i])
			}
		}
		for i := range r.Inventory.Hosts {
			if host != nil {
				host(&r.Inventory.Hosts[i])
			}
		}
	}
}

// deafHosts take no hold, but tell the run that it holds the host.
func deafHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		if s.Purpose == rollout.Purpose(hold.TakeScript) || s.Purpose == rollout.Purpose(hold.CheckScript) {
			return rollout.Reply{}, nil
		}
		return c.Run(ctx, s)
	}}
}

// hurriedHosts write without a check of the hold after the upload.
func hurriedHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		s.Text = strings.Replace(s.Text, `"claim":true`, `"claim":false`, 1)
		return c.Run(ctx, s)
	}}
}

// forgetfulHosts do not keep the state of their units in their holds.
func forgetfulHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		s.Text = regexp.MustCompile(`"(units|failed_units)":\[[^]]*\],`).ReplaceAllString(s.Text, "")
		return c.Run(ctx, s)
	}}
}

// oneKernelHosts report that a staged OS does not differ from the booted one.
func oneKernelHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		reply, err := c.Run(ctx, s)
		reply.Stdout = regexp.MustCompile(`,"differs":\[[^]]*\]`).ReplaceAllString(reply.Stdout, "")
		return reply, err
	}}
}

// ableHosts report that they can carry out each kind of reboot.
func ableHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		reply, err := c.Run(ctx, s)
		const able = `"reboots":{"systemd":262,"counts_soft":true,"composefs":true,"prepares_soft":true,"keeps_mounts":true,"keeps_boot":true,"kexec":"possible"}`
		reply.Stdout = regexp.MustCompile(`"reboots":\{[^}]*\}`).ReplaceAllString(reply.Stdout, able)
		return reply, err
	}}
}

// softOrderHosts soft reboot whenever they are to reboot.
func softOrderHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		if strings.HasPrefix(s.Text, "simulator reboot ") {
			s.Text = strings.Replace(s.Text, " "+string(engine.FullReboot)+" ", " "+string(engine.SoftReboot)+" ", 1)
		}
		return c.Run(ctx, s)
	}}
}

// blindToSurvivors makes a run neither see that a member runs from another deployment, nor restart it, and hosts, too.
func blindToSurvivors(site *simulator.Site, r *rollout.Run) {
	for _, h := range site.Hosts() {
		h.Change(func(t *simulator.Traits) { t.Lax = true })
	}
	r.Modules = slices.Clone(r.Modules)
	r.Modules[0].Observer = blindObserver{r.Modules[0].Observer}
	r.Hosts = alteredHosts{r.Hosts, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		if s.Op.RestartSurvivors != nil {
			return rollout.Reply{}, nil
		}
		return c.Run(ctx, s)
	}}
}

// muteSink journals a plan without its hosts.
type muteSink struct{ rollout.Sink }

func (s muteSink) Emit(e event.Event) error {
	if e.Type == event.Planned {
		plan := *e.Plan
		plan.Hosts = nil
		e.Plan = &plan
	}
	return s.Sink.Emit(e)
}

// softSink journals a plan in which each reboot is a soft one.
type softSink struct{ rollout.Sink }

func (s softSink) Emit(e event.Event) error {
	if e.Type == event.Planned {
		plan := *e.Plan
		plan.Hosts = slices.Clone(plan.Hosts)
		for i := range plan.Hosts {
			if plan.Hosts[i].Reboot != nil {
				plan.Hosts[i].Reboot = &engine.Reboot{Kind: engine.SoftReboot}
			}
		}
		e.Plan = &plan
	}
	return s.Sink.Emit(e)
}

// twicePower switches twice.
type twicePower struct{ rollout.Power }

func (p twicePower) Switch(ctx context.Context, h engine.Host, s engine.SwitchPower, before func(string) error) error {
	return errors.Join(p.Power.Switch(ctx, h, s, before), p.Power.Switch(ctx, h, s, before))
}

// lossySink drops the events of some types.
type lossySink struct {
	rollout.Sink

	lost []event.Type
}

func (s lossySink) Emit(e event.Event) error {
	if slices.Contains(s.lost, e.Type) {
		return nil
	}
	return s.Sink.Emit(e)
}

// blindPlays makes a run read a playbook that differs from the real one.
func blindPlays(play func(*rollout.Play)) func(*simulator.Site, *rollout.Run) {
	return func(_ *simulator.Site, r *rollout.Run) {
		r.Plays = slices.Clone(r.Plays)
		for i := range r.Plays {
			play(&r.Plays[i])
		}
	}
}

// TestSimulatorBites lets every run of the histories break a law, in one way
// after the other, and checks that some history shows the violation.
func TestSimulatorBites(t *testing.T) {
	any100 := engine.CountOrPercent{Percent: 100, Set: true}
	for name, c := range map[string]struct {
		sabotage func(*simulator.Site, *rollout.Run)
		broken   string
		first    uint64 // seed that is tried first, because it showed the violation when the test was written
	}{
		"budget": {hideFromRun(func(p *engine.Pool) { p.MaxUnavailable = any100 }, nil), "its budget is", 5},
		"budget of the site": {func(_ *simulator.Site, r *rollout.Run) {
			r.Inventory.MaxUnavailable = engine.CountOrPercent{}
		}, "the site loses", 2},
		"zones":          {hideFromRun(nil, func(h *engine.Host) { h.Zone = "" }), "joins a batch", 53},
		"order of pools": {hideFromRun(func(p *engine.Pool) { p.After = nil }, nil), "is as it is to be", 2},
		"canaries":       {hideFromRun(func(p *engine.Pool) { p.Canary = nil }, nil), "have not soaked", 7},
		"soak": {hideFromRun(func(p *engine.Pool) {
			if p.Canary != nil {
				p.Canary = &engine.Canary{Hosts: p.Canary.Hosts}
			}
		}, nil), "have not soaked", 7},
		"windows":        {hideFromRun(func(p *engine.Pool) { p.Windows = nil }, nil), "no window is open", 5},
		"time of batch":  {hideFromRun(func(p *engine.Pool) { p.BatchTakes = 1 }, nil), "no window is open", 684},
		"paused pools":   {hideFromRun(func(p *engine.Pool) { p.Paused = false }, nil), "is paused, and is touched", 4},
		"paused hosts":   {hideFromRun(nil, func(h *engine.Host) { h.Paused = false }), "is paused, and is touched", 5},
		"maintenance":    {hideFromRun(nil, func(h *engine.Host) { h.Maintenance = "" }), "is paused, and is touched", 10},
		"leaving":        {hideFromRun(nil, func(h *engine.Host) { h.Leaving = false }), "is paused, and is touched", 229},
		"failure budget": {hideFromRun(func(p *engine.Pool) { p.FailureBudget = any100 }, nil), "have failed, of which", 12},
		"clusters": {func(_ *simulator.Site, r *rollout.Run) {
			r.Inventory.Clusters = nil
			r.Clusters = blindClusters{r.Clusters}
			hideFromRun(nil, func(h *engine.Host) { h.Cluster = "" })(nil, r)
		}, "of cluster", 6},
		"quorum":       {func(_ *simulator.Site, r *rollout.Run) { r.Clusters = blindClusters{r.Clusters} }, "is not healthy", 539},
		"leader":       {func(_ *simulator.Site, r *rollout.Run) { r.Clusters = stuckClusters{r.Clusters} }, "goes down while it leads", 2},
		"hold":         {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = deafHosts(r.Hosts) }, "without a hold", 1},
		"release":      {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = hastyHosts(r.Hosts, r.ID) }, "is released while it goes down", 2},
		"units before": {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = forgetfulHosts(r.Hosts) }, "had not failed before", 364},
		"journal":      {func(_ *simulator.Site, r *rollout.Run) { r.Sink = lateSink{r.Sink} }, "is not in the journal", 1},
		"plan":         {func(_ *simulator.Site, r *rollout.Run) { r.Sink = muteSink{r.Sink} }, "the plan does not say so", 1},

		"soft reboots of a pool":  {hideFromRun(func(p *engine.Pool) { p.Reboot.Soft = engine.AutoSoft }, nil), "its pool does not allow that", 27},
		"kernel of a soft reboot": {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = oneKernelHosts(r.Hosts) }, "which has another kernel", 19},
		"kind of a reboot":        {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = softOrderHosts(r.Hosts) }, "and the journal has the kind", 1},
		"kexecs of a pool":        {hideFromRun(func(p *engine.Pool) { p.Reboot.Kexec = engine.AutoKexec }, nil), "kexecs, and its pool does not allow that", 4},
		"hosts that cannot kexec": {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = ableHosts(r.Hosts) }, "kexecs, and cannot do that", 41},
		"hosts that cannot soft":  {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = ableHosts(r.Hosts) }, "soft reboots, and cannot do that", 30},
		"required soft reboots": {hideFromRun(func(p *engine.Pool) {
			if p.Reboot.Soft == engine.RequireSoft {
				p.Reboot.Soft = engine.AutoSoft
			}
		}, nil), "its pool requires soft reboots", 12},
		"kind in the plan": {func(_ *simulator.Site, r *rollout.Run) { r.Sink = softSink{r.Sink} }, "and the plan has the kind", 1},
		"full in place of soft": {func(_ *simulator.Site, r *rollout.Run) {
			r.Sink = lossySink{r.Sink, []event.Type{event.Warned}}
		}, "a soft reboot was ordered, and nothing tells", 36},
		"full in place of kexec": {func(_ *simulator.Site, r *rollout.Run) { r.Sink = lossySink{r.Sink, []event.Type{event.Warned}} }, "a kexec reboot was ordered, and nothing tells", 156},
		"members that run on":    {blindToSurvivors, "while its etcd member runs from", 436},
		"full reboots of a run":  {func(_ *simulator.Site, r *rollout.Run) { r.FullReboot = false }, "and the run has the option --full-reboot", 31},
		"hold in a write":        {func(_ *simulator.Site, r *rollout.Run) { r.Hosts = hurriedHosts(r.Hosts) }, "arrives on the disk", 14},
		"hold in a staging":      {stagesOn, "arrives on the disk", 443},

		"resets of a pool":  {hideFromRun(func(p *engine.Pool) { p.Reboot.ResetAfter = engine.Duration(time.Minute) }, nil), "is reset, and its pool does not allow that", 2},
		"time of a reset":   {hideFromRun(func(p *engine.Pool) { p.Reboot.ResetAfter = min(p.Reboot.ResetAfter, engine.Duration(time.Minute)) }, nil), "after the order to reboot, and 3m", 2},
		"word of a reset":   {func(_ *simulator.Site, r *rollout.Run) { r.Sink = lossySink{r.Sink, []event.Type{event.Warned}} }, "is reset, and this is not in the journal", 4},
		"resets in one run": {func(_ *simulator.Site, r *rollout.Run) { r.Power = twicePower{r.Power} }, "is reset twice", 4},

		"versions":         {hideFromRun(func(p *engine.Pool) { p.MaxSkew = nil }, nil), "is too far from", 82},
		"unfinished":       {func(_ *simulator.Site, r *rollout.Run) { r.OverIncomplete = true }, "is not finished", 10},
		"order in a pool":  {hideFromRun(func(p *engine.Pool) { p.Order = engine.Shuffled }, nil), "is begun before", 4},
		"failed last time": {func(_ *simulator.Site, r *rollout.Run) { r.Retry = nil }, "is begun before", 438},
		"batch":            {func(_ *simulator.Site, r *rollout.Run) { r.Sink = lossySink{r.Sink, []event.Type{event.BatchStarted}} }, "is not in the batch", 1},
		"end of a play":    {func(_ *simulator.Site, r *rollout.Run) { r.Sink = lossySink{r.Sink, []event.Type{event.HostDone}} }, "is not over on", 11},
		"order of plays":   {func(_ *simulator.Site, r *rollout.Run) { r.Plays = slices.Clone(r.Plays); slices.Reverse(r.Plays) }, "is not the one that follows", 3},
		"begin of a play":  {blindPlays(func(p *rollout.Play) { p.AnyErrorsFatal, p.MaxFailPercentage = false, &any100 }), "may, and play", 9},
		"hosts of a play":  {blindPlays(func(p *rollout.Play) { p.Selected = nil }), "is none of the hosts of the play", 16},
		"serial":           {blindPlays(func(p *rollout.Play) { p.Serial = nil }), "its serial is", 11},
		"any errors fatal": {blindPlays(func(p *rollout.Play) {
			if p.AnyErrorsFatal {
				p.AnyErrorsFatal, p.MaxFailPercentage = false, &any100
			}
		}), "hosts of play", 825},
		"failures of plays": {blindPlays(func(p *rollout.Play) {
			if !p.AnyErrorsFatal && p.MaxFailPercentage != nil {
				p.MaxFailPercentage = &any100
			}
		}), "hosts of play", 470},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			played := 0
			for s := c.first; played < 600; s++ {
				h := newHistory(s)
				if strings.Contains(c.broken, "play") && !h.hasPlays() {
					continue
				}
				played++
				h.sabotage = c.sabotage
				if err := runInBubble(t, h.playHistory); err != nil && strings.Contains(err.Error(), "BROKEN") && strings.Contains(err.Error(), c.broken) {
					t.Logf("%s: seed %d tells", name, s)
					return
				}
			}
			t.Errorf("no history breaks a law that says %q", c.broken)
		})
	}
}

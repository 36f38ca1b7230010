package governing

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/governor"
	"holdfast/engine/hostscript"
)

// Stage governs one staging of one host.
type Stage struct {
	Ports
	Staging

	controller *governor.Controller
	watch      *governor.Watch

	serial    int64             // serial number of the last pace that was sent
	sent      governor.Decision // the last decision that arrived
	sentAt    time.Time
	tried     governor.Knobs // the last knobs that may have arrived
	idleSince time.Time      // zero: the host stages
	levers    []engine.Lever // nil until the host has reported its levers

	state  engine.GovernorState
	since  time.Time // begin of the current state
	timeIn map[engine.GovernorState]time.Duration
}

// governUntilDone samples the members and sends the host its pace until the
// context ends. It returns a failure if the staging must stop.
func (g *Stage) governUntilDone(ctx context.Context) *engine.Failure {
	g.watch.AddScrapes(g.Now(), g.scrapeMembers(ctx, g.Lane.Cluster, scrapeLimit), time.Time{})
	decision := g.controller.First()
	for {
		g.sendPace(ctx, decision)
		if g.Sleep(ctx, governEvery) != nil {
			return nil
		}
		g.noteIdle()
		scrapes := g.scrapeMembers(ctx, g.Lane.Cluster, scrapeLimit)
		readings := g.watch.AddScrapes(g.Now(), scrapes, g.idleSince)
		if ctx.Err() != nil {
			return nil
		}
		decision = g.controller.AddSample(g.Now(), readings)
		g.noteState(decision)
		if decision.Stop != "" {
			return g.stopFailure(decision)
		}
	}
}

// noteIdle sets idleSince, the time since which the staging has been frozen and
// has written nothing. A pace whose answer was lost may have ended the pause. A
// host that hears nothing for long ends it, too.
func (g *Stage) noteIdle() {
	now := g.Now()
	heard := now.Sub(g.sentAt) < hostscript.SilenceTime-2*time.Second // the host counts whole seconds, and a scrape takes one
	switch {
	case !heard || g.sent.Knobs.Slice > 0 || g.tried.Slice > 0 || !g.isInForce(engine.FreezeLever):
		g.idleSince = time.Time{}
	case g.idleSince.IsZero():
		g.idleSince = now // the host got the pace before the scrape, and has ended its last slice
	}
}

// sendPace sends a pace to the host if it differs from the last one that arrived,
// or if the host must hear that the bastion still works. If a pace does not
// arrive, sendPace sends one again with the next sample. Until then the host keeps
// its last pace, or falls back to its safe pace.
func (g *Stage) sendPace(ctx context.Context, d governor.Decision) {
	now := g.Now()
	if g.levers != nil && d.Knobs == g.sent.Knobs && now.Sub(g.sentAt) < renewPace {
		return
	}
	g.setRate(d.Knobs.Rate)
	g.tried = d.Knobs
	g.serial++
	script := hostscript.PaceScript(g.serialNumber(), speedOf(d.Knobs), speedOf(d.Safe))
	reply, err := g.Send(ctx, g.Plan.Host, script, callTimeout)
	if err != nil || reply.Code != 0 {
		return
	}
	levers := hostscript.ReadLevers(reply.Stdout)
	if levers == nil { // the unit has not started
		return
	}
	g.sent, g.sentAt = d, now
	g.noteLevers(d, append(levers, g.rateLever()))
}

func (g *Stage) setRate(bytesPerSecond int64) {
	if g.rateLever().InForce {
		g.SetRate(g.Plan.Host, bytesPerSecond)
	}
}

// serialNumber returns a number that differs from the numbers of earlier runs,
// which may have sent a pace to the same unit.
func (g *Stage) serialNumber() int64 {
	return g.Began.Unix()%1e6*1e4 + g.serial
}

func toPace(k governor.Knobs) engine.Pace {
	return engine.Pace{Slice: engine.Duration(k.Slice), Pause: engine.Duration(k.Pause)}
}

func speedOf(k governor.Knobs) hostscript.Speed {
	return hostscript.Speed{Pace: toPace(k), Rate: k.Rate}
}

func paceOf(k governor.Knobs) *engine.Pace {
	pace := toPace(k)
	return &pace
}

func governorOf(x governor.Excess) engine.Governor {
	return engine.Governor{
		MemberHost: x.Host, Metric: x.Metric, P99: engine.Duration(x.P99.Round(10 * time.Microsecond)),
		Limit: engine.Duration(x.Limit.Round(10 * time.Microsecond)), Window: engine.Duration(x.Window.Round(time.Millisecond)),
		Stalled: engine.Duration(x.Stalled.Round(time.Millisecond)),
	}
}

func (g *Stage) emitGovernor(e engine.Governor) {
	g.Emit(event.Event{Type: event.StagingGoverned, Host: g.Plan.Host, Pool: g.Plan.Pool, Cluster: g.Lane.Cluster, Step: g.Step.Name, Governor: &e})
}

func (g *Stage) stopFailure(d governor.Decision) *engine.Failure {
	e := governorOf(d.Over)
	e.State, e.StopReason = g.state, d.Stop
	g.emitGovernor(e)
	f := &engine.Failure{Kind: engine.LatencyFailure, Hint: "fetched objects stay on the host, and the next run continues with them"}
	abortAfter := engine.Duration(g.controller.AbortAfter).Trimmed()
	switch d.Stop {
	case engine.StopDeadline:
		f.Cause = "not staged within " + g.Step.Timeout.Trimmed() + " at a pace that etcd cluster " + g.Lane.Cluster + " keeps up with"
		f.Hint = "raise timeouts { stage } of the pool; " + f.Hint
	case engine.StopMissing:
		f.Cause = fmt.Sprintf("the member on %s has not answered for %s; staging was stopped to protect etcd", cmp.Or(e.MemberHost, "a host"), abortAfter)
	case engine.StopStalled:
		f.Cause = fmt.Sprintf("the member on %s has completed no %s for %s; staging was stopped to protect etcd", e.MemberHost, e.Metric.Words(), e.Stalled.Trimmed())
		f.Hint = "check the disk of " + e.MemberHost + "; " + f.Hint
	default:
		f.Cause = fmt.Sprintf("the p99 of %s on %s is %s, above its limit of %s, after %s at the slowest pace; staging was stopped to protect etcd", e.Metric.Words(), e.MemberHost, e.P99, e.Limit, abortAfter)
		f.Hint = "find out which programs use the disk of " + e.MemberHost + "; " + f.Hint
	}
	return f
}

func (g *Stage) emitEnd() {
	g.setRate(0)
	g.addStateTime()
	g.emitGovernor(engine.Governor{
		State: engine.GovernorEnded, Levers: g.levers, Members: g.watch.Report(),
		SlowedFor: g.totalOf(engine.GovernorSlowed), PausedFor: g.totalOf(engine.GovernorPaused), FixedFor: g.totalOf(engine.GovernorFixed),
	})
}

// NewStage prepares to govern a staging. It first measures the idle latency of
// the cluster, once in a run.
func NewStage(ctx context.Context, p Ports, s Staging, known *Idle) *Stage {
	idle := known.measureCluster(ctx, p, s)
	common := governor.LimitsOf(s.Lane.Governing.Latency)
	limits := map[string]governor.Limits{}
	for host, point := range idle.byHost {
		limits[host] = common.Raised(point)
	}
	now, timeout := p.Now(), time.Duration(s.Step.Timeout)
	settings := governor.Settings{
		Common: common, Limits: limits, Members: s.Members, Blind: idle.blind, Absent: idle.absent,
		Began: now, Deadline: now.Add(max(timeout-callTimeout, timeout/2)), AbortAfter: time.Duration(s.Lane.Governing.AbortAfter),
	}
	return &Stage{
		Ports: p, Staging: s, state: engine.GovernorFree, since: now, timeIn: map[engine.GovernorState]time.Duration{},
		controller: governor.New(settings), watch: governor.NewWatch(idle.observed),
	}
}

// Run runs the step, and controls its pace until the step ends. If the staging
// must stop, the cause of the step's context is the failure.
func (g *Stage) Run(ctx context.Context, runStep func(context.Context) *engine.Failure) *engine.Failure {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	loop, end := context.WithCancel(ctx)
	defer end()
	var wait conc.WaitGroup
	g.setRate(g.controller.First().Knobs.Rate)
	wait.Go(func() {
		if f := g.governUntilDone(loop); f != nil {
			stop(f)
		}
	})
	failure := runStep(ctx)
	end()
	wait.Wait()
	g.emitEnd()
	return failure
}

package rollout

import (
	"context"
	"fmt"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout/governing"
	"holdfast/engine/textutil"
)

func toDuration(d engine.Duration) time.Duration { return time.Duration(d) }

// stageLanes stages the new OS on all hosts while they keep running: lanes in
// parallel, the hosts of a lane one after the other. After the first failure
// that ends the run no other host begins, and the hosts that are being staged
// finish. If a staging may still run without its governor, no other host near the
// same cluster is staged, and the run ends.
func (l *playLoop) stageLanes(ctx context.Context, plan engine.Plan, lanes []engine.Lane) error {
	began := l.Clock.Now()
	l.state.worked = true
	if err := l.emitEvent(event.Event{Type: event.StageStarted}); err != nil {
		return err
	}
	var failed failures
	workers := pool.New().WithMaxGoroutines(l.forkCount(stageForks))
	for _, lane := range lanes {
		workers.Go(func() {
			for _, name := range lane.Hosts {
				hp := *plan.Host(name)
				if failed.worstFailure() != nil || l.steps.mayGoOn(ctx) != nil {
					return
				}
				if lost := l.state.lostStaging(lane, hp); lost != nil {
					failed.addFailure(lost)
					return
				}
				if f := l.newHostRun(hp).stageHost(ctx, lane); f != nil {
					failed.addFailure(l.fatalFailure(engine.Batch{}, []*engine.Failure{f}))
				}
			}
		})
	}
	workers.Wait()
	l.noteEvent(event.Event{Type: event.StageEnded, Took: engine.Duration(l.Clock.Now().Sub(began).Round(time.Millisecond))})
	if f := failed.worstFailure(); f != nil {
		return f
	}
	return l.steps.mayGoOn(ctx)
}

// stageHost runs a host's staging steps. The first Ctrl-C stops the transfer.
// The next run does not fetch the same data again.
func (h *hostRun) stageHost(ctx context.Context, lane engine.Lane) *engine.Failure {
	if len(h.hp.Stage) == 0 {
		return nil
	}
	if err := h.state.mayStage(h.hp.Host); err != nil {
		failure := asFailure(err, h.hp.Host, h.hp.Stage[0].Name)
		h.failHost(failure, "", "it was not disrupted and is not held")
		return failure
	}
	for _, s := range h.hp.Stage {
		failure := h.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			if lane.Governing == nil {
				return h.runStep(ctx, h.hp, s)
			}
			return h.runGoverned(ctx, s, lane)
		})
		if failure == nil {
			continue
		}
		stopped := !h.mayStillStage(failure, lane) || h.abortStep(ctx, h.hp, s)
		message := "it was not disrupted and is not held"
		switch {
		case failure.Kind == engine.StoppedFailure:
			failure.Cause = errStopped.Error() + "; fetched objects stay on the host"
			return failure
		case !stopped && lane.Governing != nil:
			h.state.noteLostStaging(lane, failure)
			message += "; its staging may still run, at its last safe pace"
		case !stopped:
			message += "; its staging may still run"
		}
		h.failHost(failure, "", message)
		return failure
	}
	h.state.noteLostStaging(lane, nil) // if there was one, it was on this host
	return nil
}

// mayStillStage reports whether the staging of a host may go on after a failure
// and must not: after a stop, or near a cluster, whose members are staged one at a
// time.
func (h *hostRun) mayStillStage(failure *engine.Failure, lane engine.Lane) bool {
	switch failure.Kind {
	case engine.LatencyFailure, engine.StoppedFailure:
		return true
	case engine.UnreachableFailure:
		return lane.Cluster != "" && (!failure.NotStarted || h.state.facts[failure.Host].IsStaging())
	default:
		return false
	}
}

func (h *hostRun) runGoverned(ctx context.Context, s engine.Step, lane engine.Lane) *engine.Failure {
	ports := governing.Ports{Now: h.Clock.Now, Sleep: h.Clock.Sleep, Scrape: h.Clusters.ScrapeMembers, Send: h.sendPace, SetRate: h.SetRate, Emit: h.noteEvent}
	staging := governing.Staging{Plan: h.hp, Step: s, Lane: lane, Members: len(h.Inventory.StayingMembers(lane.Cluster)), Began: h.state.began, Staged: h.hostsStagedNear(lane.Cluster)}
	stage := governing.NewStage(ctx, ports, staging, &h.state.idle)
	if ctx.Err() != nil {
		return &engine.Failure{Host: h.hp.Host, Step: s.Name, Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	return stage.Run(ctx, func(ctx context.Context) *engine.Failure { return h.runStep(ctx, h.hp, s) })
}

// hostsStagedNear returns the hosts on or near a cluster that were being staged when
// the run gathered its facts, without those that the run itself has staged since.
func (h *hostRun) hostsStagedNear(cluster string) (hosts []string) {
	for _, other := range h.Inventory.Hosts {
		if other.EtcdNearby() == cluster && h.state.facts[other.Name].IsStaging() && (other.Name == h.hp.Host || !h.state.wasStaged(other.Name)) {
			hosts = append(hosts, other.Name)
		}
	}
	return hosts
}

func (r *stepRunner) sendPace(ctx context.Context, host, script string, timeout time.Duration) (engine.Output, error) {
	return r.runScript(ctx, host, Script{Purpose: PaceScript, Text: script, Timeout: timeout})
}

// abortTimeout is longer than the three stops of an AbortScript usually take. One takes up to a minute, the TimeoutStopSec of the unit.
const abortTimeout = 4 * time.Minute

// abortStep stops a step on the host. It returns false, and warns, if the step may
// still run.
func (r *stepRunner) abortStep(ctx context.Context, hp engine.HostPlan, s engine.Step) (stopped bool) {
	switch {
	case s.Do.Exec == nil || len(s.Do.Exec.Abort) == 0:
		return true
	case ctx.Err() != nil:
		return false
	}
	reply, err := r.runIdempotent(ctx, hp.Host, Script{Purpose: AbortScript, Text: s.Do.Exec.Abort.String(), Timeout: abortTimeout})
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", reply.Code, textutil.FirstLine(reply.Stderr))
	}
	if err != nil {
		r.emitWarning(hp.Host + ": stop " + s.Name + ": " + err.Error())
	}
	return err == nil
}

func needsStage(plan engine.Plan, b engine.Batch) bool {
	for _, h := range b.Hosts {
		if len(plan.Host(h).Stage) > 0 {
			return true
		}
	}
	return false
}

func lanesOf(lanes []engine.Lane, b engine.Batch) []engine.Lane {
	in := map[string]bool{}
	for _, h := range b.Hosts {
		in[h] = true
	}
	var out []engine.Lane
	for _, l := range lanes {
		kept := engine.Lane{Cluster: l.Cluster, Governing: l.Governing}
		for _, h := range l.Hosts {
			if in[h] {
				kept.Hosts = append(kept.Hosts, h)
			}
		}
		if len(kept.Hosts) > 0 {
			out = append(out, kept)
		}
	}
	return out
}

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

const stageForks = 8

func toDuration(d engine.Duration) time.Duration { return time.Duration(d) }

// stageLanes stages the new OS on all hosts while they keep running: lanes in
// parallel, the hosts of a lane one after the other. After the first failure
// that ends the run no other host begins, and the hosts that are being staged
// finish. If a staging may still run without its governor, no other host near the
// same cluster is staged, and the run ends.
func (r *Run) stageLanes(ctx context.Context, plan engine.Plan, lanes []engine.Lane) error {
	began := r.Clock.Now()
	if err := r.emitEvent(event.Event{Type: event.StageStarted}); err != nil {
		return err
	}
	var failed failures
	workers := pool.New().WithMaxGoroutines(r.forkCount(stageForks))
	for _, lane := range lanes {
		workers.Go(func() {
			for _, name := range lane.Hosts {
				hp := *plan.Host(name)
				if failed.worst() != nil || r.mayGoOn(ctx) != nil {
					return
				}
				if lost := r.state.lostStaging(lane, hp); lost != nil {
					failed.add(lost)
					return
				}
				if f := r.stageHost(ctx, hp, lane); f != nil {
					failed.add(r.fatalFailure(engine.Batch{}, []*engine.Failure{f}))
				}
			}
		})
	}
	workers.Wait()
	r.noteEvent(event.Event{Type: event.StageEnded, Took: engine.Duration(r.Clock.Now().Sub(began).Round(time.Millisecond))})
	if f := failed.worst(); f != nil {
		return f
	}
	return r.mayGoOn(ctx)
}

// stageHost runs a host's staging steps. The first Ctrl-C stops the transfer.
// The next run does not fetch the same data again.
func (r *Run) stageHost(ctx context.Context, hp engine.HostPlan, lane engine.Lane) *engine.Failure {
	if len(hp.Stage) == 0 {
		return nil
	}
	if err := r.state.mayStage(hp.Host); err != nil {
		failure := asFailure(err, hp.Host, hp.Stage[0].Name)
		r.failHost(hp, failure, "it was not disrupted and is not held")
		return failure
	}
	for _, s := range hp.Stage {
		failure := r.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			if lane.Governing == nil {
				return r.runStep(ctx, hp, s)
			}
			return r.runGoverned(ctx, hp, s, lane)
		})
		if failure == nil {
			continue
		}
		stopped := !r.mayStillStage(failure, lane) || r.abortStep(ctx, hp, s)
		message := "it was not disrupted and is not held"
		switch {
		case failure.Kind == engine.StoppedFailure:
			failure.Cause = errStopped.Error() + "; fetched objects stay on the host"
			return failure
		case !stopped && lane.Governing != nil:
			r.state.noteLostStaging(lane, failure)
			message += "; its staging may still run, at its last safe pace"
		case !stopped:
			message += "; its staging may still run"
		}
		r.failHost(hp, failure, message)
		return failure
	}
	r.state.noteLostStaging(lane, nil) // if there was one, it was on this host
	return nil
}

// mayStillStage reports whether the staging of a host may go on after a failure
// and must not: after a stop, or near a cluster, whose members are staged one at a
// time.
func (r *Run) mayStillStage(failure *engine.Failure, lane engine.Lane) bool {
	switch failure.Kind {
	case engine.LatencyFailure, engine.StoppedFailure:
		return true
	case engine.UnreachableFailure:
		return lane.Cluster != "" && (!failure.NotStarted || r.state.facts[failure.Host].IsStaging())
	default:
		return false
	}
}

func (r *Run) runGoverned(ctx context.Context, hp engine.HostPlan, s engine.Step, lane engine.Lane) *engine.Failure {
	ports := governing.Ports{Clock: r.Clock, Scrape: r.Clusters.ScrapeMembers, Send: r.sendPace, SetRate: r.SetRate, Emit: r.noteEvent}
	staging := governing.Staging{Plan: hp, Step: s, Lane: lane, Members: len(r.Inventory.Members(lane.Cluster)), Began: r.state.began, Staged: r.hostsStagedNear(lane.Cluster, hp.Host)}
	stage := governing.NewStage(ctx, ports, staging, &r.state.idle)
	if ctx.Err() != nil {
		return &engine.Failure{Host: hp.Host, Step: s.Name, Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	return stage.Run(ctx, func(ctx context.Context) *engine.Failure { return r.runStep(ctx, hp, s) })
}

// hostsStagedNear returns the hosts on or near a cluster that were being staged when
// the run gathered its facts, without those that the run itself has staged since.
// next is the host that it stages next.
func (r *Run) hostsStagedNear(cluster, next string) (hosts []string) {
	for _, h := range r.Inventory.Hosts {
		if h.EtcdNearby() == cluster && r.state.facts[h.Name].IsStaging() && (h.Name == next || !r.state.wasStaged(h.Name)) {
			hosts = append(hosts, h.Name)
		}
	}
	return hosts
}

func (r *Run) sendPace(ctx context.Context, host, script string, timeout time.Duration) (engine.Output, error) {
	reply, err := r.runScript(ctx, host, Script{Purpose: PaceScript, Text: script, Timeout: timeout})
	return engine.Output{Stdout: reply.Stdout, Stderr: reply.Stderr, Code: reply.Code}, err
}

// abortStep stops a step on the host. It returns false, and warns, if the step may
// still run.
func (r *Run) abortStep(ctx context.Context, hp engine.HostPlan, s engine.Step) (stopped bool) {
	switch {
	case s.Do.Exec == nil || s.Do.Exec.Abort == "":
		return true
	case ctx.Err() != nil:
		return false
	}
	reply, err := r.runIdempotent(ctx, hp.Host, Script{Purpose: AbortScript, Text: s.Do.Exec.Abort, Timeout: time.Minute})
	if err == nil && reply.Code != 0 {
		err = fmt.Errorf("exit status %d: %s", reply.Code, textutil.FirstLine(reply.Stderr))
	}
	if err != nil {
		r.emitWarning(hp.Host + ": stop " + s.Name + ": " + err.Error())
	}
	return err == nil
}

package rollout

import (
	"context"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout/governing"
)

const stageForks = 8

func toDuration(d engine.Duration) time.Duration { return time.Duration(d) }

// stageLanes stages the new OS on all hosts while they keep running: lanes in
// parallel, the hosts of a lane one after the other. After the first failure
// that ends the run no other host begins, and the hosts that are being staged
// finish.
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
				if failed.worst() != nil || r.mayGoOn(ctx) != nil {
					return
				}
				if f := r.stageHost(ctx, *plan.Host(name), lane); f != nil {
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
		if failure.Kind == engine.LatencyFailure {
			r.abortStep(ctx, hp, s)
		}
		if failure.Kind == engine.StoppedFailure {
			failure.Cause = errStopped.Error() + "; fetched objects stay on the host"
			r.abortStep(ctx, hp, s)
			return failure
		}
		r.failHost(hp, failure, "it was not disrupted and is not held")
		return failure
	}
	return nil
}

func (r *Run) runGoverned(ctx context.Context, hp engine.HostPlan, s engine.Step, lane engine.Lane) *engine.Failure {
	ports := governing.Ports{Clock: r.Clock, Scrape: r.Clusters.ScrapeMembers, Send: r.sendPace, SetRate: r.SetRate, Emit: r.noteEvent}
	staging := governing.Staging{Plan: hp, Step: s, Lane: lane, Members: len(r.Inventory.Members(lane.Cluster)), Began: r.state.began, Staged: r.hostsStagedNear(lane.Cluster)}
	stage := governing.NewStage(ctx, ports, staging, &r.state.idle)
	if ctx.Err() != nil {
		return &engine.Failure{Host: hp.Host, Step: s.Name, Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	return stage.Run(ctx, func(ctx context.Context) *engine.Failure { return r.runStep(ctx, hp, s) })
}

// hostsStagedNear returns the hosts on or near a cluster that were being staged when
// the run gathered its facts.
func (r *Run) hostsStagedNear(cluster string) (hosts []string) {
	for _, h := range r.Inventory.Hosts {
		if h.EtcdNearby() == cluster && r.state.facts[h.Name].IsStaging() {
			hosts = append(hosts, h.Name)
		}
	}
	return hosts
}

func (r *Run) sendPace(ctx context.Context, host, script string, timeout time.Duration) (engine.Output, error) {
	reply, err := r.runScript(ctx, host, Script{Purpose: PaceScript, Text: script, Timeout: timeout})
	return engine.Output{Stdout: reply.Stdout, Stderr: reply.Stderr, Code: reply.Code}, err
}

func (r *Run) abortStep(ctx context.Context, hp engine.HostPlan, s engine.Step) {
	if s.Do.Exec == nil || s.Do.Exec.Abort == "" || ctx.Err() != nil {
		return
	}
	if _, err := r.runIdempotent(ctx, hp.Host, Script{Purpose: AbortScript, Text: s.Do.Exec.Abort, Timeout: time.Minute}); err != nil {
		r.emitWarning(hp.Host + ": stop " + s.Name + ": " + err.Error())
	}
}

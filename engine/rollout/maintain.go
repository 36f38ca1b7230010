package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/maintenance"
	"holdfast/engine/planner"
	"holdfast/engine/standing"
	"holdfast/engine/textutil"
)

// Maintain plans the request of a person, journals the plan, and carries it out on several hosts at once. It changes no host that
// the plan leaves alone, and needs no lock of the site: each step checks the hold that it changes.
func (r *Run) Maintain(ctx context.Context, request maintenance.Request) event.RunEnd {
	m := &maintainer{gatherer: newGatherer(r), steps: newPlayLoop(r).steps}
	start := r.Start
	start.Maintenance = request.Action
	if err := m.steps.emitEvent(event.Event{Type: event.RunStarted, Start: &start}); err != nil {
		return markUnjournaled(event.RunEnd{Maintenance: request.Action}, fmt.Errorf("%w; nothing was touched", err))
	}
	if request.Wait {
		m.awaitRuns(ctx, request.Hosts)
	}
	seen := m.observe(ctx, request)
	plan := maintenance.NewPlan(request, seen, r.Clock.Now())
	m.steps.batchHolds = newSharedGather(seen.Site.CountBudgets(plan))
	m.steps.noteEvent(event.Event{Type: event.MaintenancePlanned, Maintenance: &plan})
	m.carryOut(ctx, plan)
	end := m.finish(plan)
	if err := m.steps.emitEvent(event.Event{Type: event.RunEnded, End: &end}); err != nil {
		end = markUnjournaled(end, err)
	}
	return end
}

// maintainer carries out the plan of a person.
type maintainer struct {
	gatherer *gatherer
	steps    *stepRunner
	failures failures
}

func (m *maintainer) observe(ctx context.Context, request maintenance.Request) maintenance.Observation {
	if request.NeedsSite() {
		return maintenance.Observation{Site: m.observeSite(ctx, request)}
	}
	seen := maintenance.Observation{Holds: map[string]maintenance.Observed{}, Site: maintenance.Site{Inventory: m.steps.Inventory}}
	list := m.steps.keepHoldsOfPeople().ReadAll(ctx, request.Hosts)
	m.recallReadings(ctx, list)
	for _, r := range list {
		seen.Holds[r.Facts.Host] = maintenance.Observed{Facts: r.Facts, Text: r.Text}
	}
	return seen
}

// observeSite reads every host of the site, because runs of other bastions are known only by their holds and roll-outs.
func (m *maintainer) observeSite(ctx context.Context, request maintenance.Request) maintenance.Site {
	inv := m.steps.Inventory
	var clusters []string
	for _, c := range maintenance.ClustersOf(inv, request.Hosts) {
		clusters = append(clusters, c.Name)
	}
	s := maintenance.Site{
		Inventory: inv, Facts: m.gatherer.gatherHosts(ctx), Clusters: m.gatherer.gatherClusters(ctx, clusters),
		View: standing.View{Run: m.steps.holdOwner(), Dead: m.steps.Dead}, Runs: request.Runs,
	}
	if request.Drain || request.PowerOff { // budgets count nodes that take no work
		m.gatherer.gatherNodes(ctx, s.Facts)
	}
	if request.Drain {
		nodes, byAPI := s.NodesToDrain(request.Hosts)
		s.Workloads = m.gatherer.readWorkloads(ctx, nodes, byAPI)
	}
	s.Rollout, s.Behind = planner.FindUnfinished(planner.Input{Request: m.steps.Request, Facts: s.Facts, Run: m.steps.ID, Bastion: m.steps.Start.Bastion})
	return s
}

func (m *maintainer) carryOut(ctx context.Context, plan engine.MaintenancePlan) {
	workers := pool.New().WithMaxGoroutines(m.steps.forkCount(gatherForks))
	for _, h := range plan.Hosts {
		workers.Go(func() {
			failure := h.Failure
			if failure == nil {
				failure = m.runSteps(ctx, plan.Action, h)
			}
			if failure == nil {
				m.steps.noteEvent(event.Event{Type: event.HostDone, Host: h.Host, Message: h.Message})
				return
			}
			f := *failure
			f.Host = cmp.Or(f.Host, h.Host)
			m.failures.addFailure(&f)
			m.steps.noteEvent(event.Event{Type: event.HostFailed, Host: h.Host, Failure: &f})
		})
	}
	workers.Wait()
}

func (m *maintainer) finish(plan engine.MaintenancePlan) event.RunEnd {
	end := event.RunEnd{Maintenance: plan.Action}
	failed := m.failures.listFailures()
	for _, h := range plan.Hosts {
		i := slices.IndexFunc(failed, func(f *engine.Failure) bool { return f.Host == h.Host })
		switch {
		case i >= 0:
			end.Failed = append(end.Failed, h.Host)
			end.Exit = end.Exit.Worse(maintenance.ExitOf(*failed[i]))
			end.Verdict.Failures = append(end.Verdict.Failures, shortFailure(failed[i]))
		case len(h.Steps) > 0:
			end.Updated = append(end.Updated, h.Host)
		}
	}
	end.Verdict.Exit, end.Verdict.Stopped = end.Exit, end.Exit == engine.ExitStopped
	return end
}

// keepHoldsOfPeople returns the keeper of holds for people. An error of a connection is a failure of the kind UnreachableFailure.
func (a hostAccess) keepHoldsOfPeople() hold.Keeper {
	k := a.keepHolds()
	k.ReadTimeout = 0
	k.Run = func(ctx context.Context, host string, s hold.Script) (Reply, error) {
		var sent atomic.Bool
		reply, err := a.runIdempotent(ctx, host, Script{Purpose: Purpose(s.Purpose), Text: s.Text, Timeout: s.Timeout, Sent: &sent})
		switch {
		case err == nil:
			return reply, nil
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			return reply, &engine.Failure{Kind: engine.StoppedFailure, Cause: errStopped.Error(), NotStarted: !sent.Load()}
		case sent.Load():
			return reply, &engine.Failure{Kind: engine.UnreachableFailure, Cause: err.Error()}
		}
		var failure *engine.Failure
		silent := errors.As(err, &failure) && failure.Silent
		return reply, &engine.Failure{Kind: engine.UnreachableFailure, Cause: "unreachable: " + err.Error(), NotStarted: true, Silent: silent}
	}
	return k
}

// takeMaintenanceHold takes the hold of a person. The hold has the ID of the run, so that the journal can be found from the host.
func (r *stepRunner) takeMaintenanceHold(ctx context.Context, host string, t engine.TakeHold) error {
	h := engine.Hold{Kind: t.Kind, Holder: r.Start.Holder, Run: r.ID, Bastion: r.Start.Bastion, Reason: t.Reason, Ticket: t.Ticket, Drain: t.Drain}
	err := r.keepHoldsOfPeople().Take(ctx, host, h, t)
	if err == nil {
		r.rememberHold(host, &h, t.For)
	}
	return err
}

func (r *stepRunner) extendHold(ctx context.Context, host string, x engine.ExtendHold) error {
	err := r.keepHoldsOfPeople().Take(ctx, host, x.Hold, engine.TakeHold{For: x.For, Digest: x.Digest})
	if f := new(engine.Failure); errors.As(err, &f) && f.Kind == engine.HeldFailure {
		f.Cause += "; nothing was changed: look at it with holdfast holds, and run the same command again"
	}
	if err == nil {
		r.rememberHold(host, &x.Hold, x.For)
	}
	return err
}

func (r *stepRunner) endHold(ctx context.Context, host string, e engine.EndHold) error {
	k := r.keepHoldsOfPeople()
	var err error
	switch {
	case e.Run != "":
		k.Owner = engine.HoldOwner{Run: e.Run, Bastion: e.Bastion}
		err = k.Release(ctx, host, engine.Release{})
		if err == nil && e.AcceptUnits { // also if the host has no hold any more
			err = k.Accept(ctx, host)
		}
	case e.Digest == "":
		err = k.Release(ctx, host, engine.Release{})
	default:
		err = k.End(ctx, host, e.Digest, e.AcceptUnits)
	}
	if err == nil {
		r.rememberHold(host, nil, 0)
	}
	return err
}

// runPause is the time between two looks at the holds of runs.
const runPause = 5 * time.Second

// awaitRuns waits until no run that is under way holds one of the hosts. The hold of a run that has failed or expired ends only by
// another run, or by a person. A host that does not answer may be rebooted by the run that held it, until that hold has
// expired by the clocks of both.
func (m *maintainer) awaitRuns(ctx context.Context, hosts []string) {
	told, holders := "", map[string]engine.Facts{}
	for {
		var busy []string
		for _, r := range m.steps.keepHoldsOfPeople().ReadAll(ctx, hosts) {
			name := r.Facts.Host
			st := standing.View{Run: m.steps.holdOwner(), Dead: m.steps.Dead}.JudgeFacts(r.Facts)
			switch {
			case st.Kind == standing.Unreached: // the run that held it may reboot it
			case st.Kind == standing.HeldByRun && !st.HasFailed():
				holders[name] = r.Facts
			default:
				delete(holders, name)
			}
			if f, held := holders[name]; held && f.AdvanceClocks(m.steps.Clock.Now()).Expiry() != engine.HoldExpired {
				busy = append(busy, name+" ("+f.Hold.String()+f.DescribeClockSkew()+")")
			}
		}
		if len(busy) == 0 {
			return
		}
		if text := "waiting for the end of a run: " + textutil.Printable(strings.Join(textutil.AndMore(busy[:min(len(busy), 4)], len(busy)), ", ")); text != told {
			told = text
			m.gatherer.emitWarning(text)
		}
		if m.steps.Clock.Sleep(ctx, runPause) != nil {
			return
		}
	}
}

package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout/gate"
	"holdfast/engine/textutil"
)

// gateAsker asks the gates of batches and hosts.
type gateAsker struct {
	hostAccess
	*emitter
}

func (a gateAsker) askGatesBefore(ctx context.Context, b engine.Batch, number int) *engine.Failure {
	for _, s := range b.Before {
		about := engine.Batch{Pools: b.Pools, Hosts: b.HostsToAsk(*s.Do.Gate)}
		if f := a.askGates(ctx, about, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

// askGatesAfter asks no gates about hosts that failed or still wait for a reboot.
func (a gateAsker) askGatesAfter(ctx context.Context, b engine.Batch, number int, done map[string]time.Time) *engine.Failure {
	for _, s := range b.After {
		asked := b
		if gate.AsksHosts(*s.Do.Gate) {
			asked.Hosts = slices.DeleteFunc(slices.Clone(a.hostsWithGate(b.Hosts, *s.Do.Gate)), func(h string) bool { return done[h].IsZero() })
			if len(asked.Hosts) == 0 {
				continue
			}
		}
		if f := a.askGates(ctx, asked, []engine.Step{s}, number); f != nil {
			return f
		}
	}
	return nil
}

func (a gateAsker) askGates(ctx context.Context, b engine.Batch, steps []engine.Step, number int) *engine.Failure {
	for _, s := range steps {
		f := a.runInterruptible(ctx, func(ctx context.Context) *engine.Failure {
			return a.runBetweenEvents(event.Event{Step: s.Name, Batch: number}, func(heartbeat *stepHeartbeat) error {
				ctx, cancel := withStepTimeout(ctx, s)
				defer cancel()
				return a.askBatchGate(ctx, b, s, heartbeat)
			})
		})
		if f != nil {
			return f
		}
	}
	return nil
}

func (a gateAsker) askGate(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	if hp.Host == "" && gate.AsksHosts(*s.Do.Gate) {
		return errors.New("it asks hosts, and there is none to ask")
	}
	return a.askUntilGood(ctx, hp, s, heartbeat.reportMessage)
}

// askBatchGate asks a gate about the hosts of a batch. A gate about hosts is
// asked in parallel about every host whose pool has the gate, and all answers
// must be good. The first bad answer ends it. Any other gate is asked once,
// about the pools of the hosts.
func (a gateAsker) askBatchGate(ctx context.Context, b engine.Batch, s engine.Step, heartbeat *stepHeartbeat) error {
	hosts := a.hostsWithGate(b.Hosts, *s.Do.Gate)
	if !gate.AsksHosts(*s.Do.Gate) || len(hosts) == 0 {
		hp := engine.HostPlan{Pool: cmp.Or(a.poolsOf(hosts), joinNames(b.Pools))}
		return a.askGate(ctx, hp, s, heartbeat)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]*engine.Failure, len(hosts))
	workers := pool.New().WithMaxGoroutines(a.forkCount(gatherForks))
	for i, name := range hosts {
		workers.Go(func() {
			about := engine.HostPlan{Host: name, Pool: a.poolsOf(hosts[i : i+1])}
			if failures[i] = asFailure(a.askUntilGood(ctx, about, s, func(message string) { heartbeat.reportMessage(name + ": " + message) }), name, s.Name); failures[i] != nil {
				cancel()
			}
		})
	}
	workers.Wait()
	return joinGateFailures(failures)
}

// joinGateFailures returns the first failure, with the names of the other
// failed hosts. It ignores hosts whose gate was stopped because another host
// failed.
func joinGateFailures(failures []*engine.Failure) error {
	var first, stopped *engine.Failure
	var also []string
	for _, f := range failures {
		switch {
		case f == nil:
		case f.Kind == engine.StoppedFailure:
			stopped = f
		case first == nil:
			first = f
		default:
			also = append(also, f.Host)
		}
	}
	if first == nil && stopped == nil {
		return nil
	}
	if first == nil {
		return &engine.Failure{Cause: stopped.Cause, Kind: engine.StoppedFailure}
	}
	whole := *first
	whole.Host, whole.Cause = "", first.Host+": "+first.Cause
	if len(also) > 0 {
		whole.Cause += "; not well either: " + strings.Join(textutil.FoldNames(also), ", ")
	}
	return &whole
}

// hostsWithGate returns the hosts whose pool has the gate, because a batch may
// have hosts of several pools. If no pool has the gate, it returns all hosts.
func (a gateAsker) hostsWithGate(hosts []string, g engine.Gate) []string {
	var of []string
	for _, name := range hosts {
		h, _ := a.Inventory.Host(name)
		p, _ := a.Inventory.Pool(h.Pool)
		if slices.ContainsFunc(p.Gates, func(other engine.Gate) bool { return reflect.DeepEqual(other, g) }) {
			of = append(of, name)
		}
	}
	if len(of) == 0 {
		return hosts
	}
	return of
}

func (a gateAsker) poolsOf(hosts []string) string {
	var pools []string
	for _, name := range hosts {
		if h, ok := a.Inventory.Host(name); ok && !slices.Contains(pools, h.Pool) {
			pools = append(pools, h.Pool)
		}
	}
	return joinNames(pools)
}

func (a gateAsker) askUntilGood(ctx context.Context, hp engine.HostPlan, s engine.Step, report func(string)) error {
	h, _ := a.Inventory.Host(hp.Host)
	asker := gate.Asker{Commands: a, Web: a.Web, Sleep: a.Clock.Sleep, Secrets: a.Secrets}
	about := gate.Subject{Host: hp.Host, Address: cmp.Or(h.Address, hp.Host), Pool: hp.Pool}
	err := asker.AskUntilGood(ctx, about, *s.Do.Gate, report)
	if errors.Is(err, errStopped) {
		return &engine.Failure{Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	return err
}

// RunOnHost runs the command of a gate on the host of its subject.
func (a gateAsker) RunOnHost(ctx context.Context, about gate.Subject, g engine.Gate) (engine.Output, error) {
	text := fmt.Sprintf("export HOLDFAST_HOST=%s HOLDFAST_ADDRESS=%s HOLDFAST_POOL=%s HOLDFAST_RUN=%s\n%s\n",
		hostscript.Quote(about.Host), hostscript.Quote(about.Address), hostscript.Quote(about.Pool), hostscript.Quote(a.ID), g.HostCommand)
	return a.runIdempotent(ctx, about.Host, Script{Text: text, Op: engine.Op{Gate: &g}})
}

// RunOnBastion runs the command of a gate on the bastion.
func (a gateAsker) RunOnBastion(ctx context.Context, about gate.Subject, g engine.Gate) (engine.Output, error) {
	return a.runOnBastion(ctx, engine.HostPlan{Host: about.Host, Pool: about.Pool}, g.Command)
}

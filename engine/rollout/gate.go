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
	"holdfast/engine/textutil"
)

// gateInterval is the default time between two questions to a gate.
const gateInterval = engine.Duration(5 * time.Second)

func (r *Run) askGate(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	if hp.Host == "" && asksHosts(*s.Do.Gate) {
		return errors.New("it asks hosts, and there is none to ask")
	}
	return r.askUntilGood(ctx, hp, s, heartbeat.reportMessage)
}

// askBatchGate asks a gate about the hosts of a batch. If the gate is about hosts, it asks about
// all hosts whose pool has the gate in parallel, and all answers must be good; the first bad one
// ends it. Else it asks once, about their pools.
func (r *Run) askBatchGate(ctx context.Context, b engine.Batch, s engine.Step, heartbeat *stepHeartbeat) error {
	hosts := r.hostsWithGate(b.Hosts, *s.Do.Gate)
	if !asksHosts(*s.Do.Gate) || len(hosts) == 0 {
		hp := engine.HostPlan{Pool: cmp.Or(r.poolsOf(hosts), joinNames(b.Pools))}
		return r.askGate(ctx, hp, s, heartbeat)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := make([]*engine.Failure, len(hosts))
	workers := pool.New().WithMaxGoroutines(r.forkCount(gatherForks))
	for i, name := range hosts {
		workers.Go(func() {
			about := engine.HostPlan{Host: name, Pool: r.poolsOf(hosts[i : i+1])}
			if failures[i] = asFailure(r.askUntilGood(ctx, about, s, func(message string) { heartbeat.reportMessage(name + ": " + message) }), name, s.Name); failures[i] != nil {
				cancel()
			}
		})
	}
	workers.Wait()
	return joinGateFailures(failures)
}

// joinGateFailures returns the first failure, with the names of the other hosts. It ignores hosts
// that were stopped because another one failed.
func joinGateFailures(failures []*engine.Failure) error {
	var first, stopped *engine.Failure
	var also []string
	for _, f := range failures {
		switch {
		case f == nil:
		case f.Kind == KindStopped:
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
		return &engine.Failure{Cause: stopped.Cause, Kind: KindStopped}
	}
	whole := *first
	whole.Host, whole.Cause = "", first.Host+": "+first.Cause
	if len(also) > 0 {
		whole.Cause += "; not well either: " + strings.Join(textutil.FoldNames(also), ", ")
	}
	return &whole
}

func asksHosts(g engine.Gate) bool {
	text := ""
	switch {
	case g.HostCommand != "":
		return true
	case g.HTTP != nil:
		text = g.HTTP.URL
	case g.PromQL != nil:
		text = g.PromQL.Query
	}
	return strings.Contains(text, "{host}") || strings.Contains(text, "{address}")
}

// hostsWithGate keeps the hosts whose pool has the gate, because a batch may have hosts of several
// pools. If no pool has it, all are kept.
func (r *Run) hostsWithGate(hosts []string, g engine.Gate) []string {
	var of []string
	for _, name := range hosts {
		h, _ := r.Inventory.Host(name)
		p, _ := r.Inventory.Pool(h.Pool)
		if slices.ContainsFunc(p.Gates, func(other engine.Gate) bool { return reflect.DeepEqual(other, g) }) {
			of = append(of, name)
		}
	}
	if len(of) == 0 {
		return hosts
	}
	return of
}

func (r *Run) poolsOf(hosts []string) string {
	var pools []string
	for _, name := range hosts {
		if h, ok := r.Inventory.Host(name); ok && !slices.Contains(pools, h.Pool) {
			pools = append(pools, h.Pool)
		}
	}
	return joinNames(pools)
}

// askUntilGood ignores an answer that was cut short because the time was over.
func (r *Run) askUntilGood(ctx context.Context, hp engine.HostPlan, s engine.Step, tell func(string)) error {
	t := gateTally{gate: *s.Do.Gate, report: tell}
	for ctx.Err() == nil {
		a := r.askOnce(ctx, hp, s)
		if !a.isGood() && ctx.Err() != nil {
			if t.last.isGood() && t.inRow == 0 {
				t.last = gateAnswer{problem: "no answer until then", command: a.command, stderr: a.stderr}
			}
			break
		}
		if done, err := t.countAnswer(a); done || err != nil {
			return err
		}
		if r.Clock.Sleep(ctx, toDuration(cmp.Or(t.gate.Interval, gateInterval))) != nil {
			break
		}
	}
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errStopped):
		return &engine.Failure{Cause: errStopped.Error(), Kind: KindStopped}
	case errors.Is(cause, context.Canceled):
		return cause
	}
	return t.last.toFailure(strings.Join(t.timeoutReasons(cause.Error()), "; "))
}

// gateTally counts the answers of a gate.
type gateTally struct {
	gate     engine.Gate
	report   func(string)
	inRow    int        // good answers since the last bad one
	bad      int        // all bad answers
	last     gateAnswer // the last bad answer
	reported string     // comparison key of the last report
}

func (t *gateTally) countAnswer(a gateAnswer) (done bool, err error) {
	if a.isGood() {
		t.inRow++
		t.last.command = a.command
		if t.inRow >= t.gate.Successes {
			return true, nil
		}
		t.reportChange("good", fmt.Sprintf("a good answer; it takes %d in a row", t.gate.Successes))
		return false, nil
	}
	t.inRow, t.last = 0, a
	t.bad++
	switch most := t.gate.Retries; {
	case a.final:
		return false, a.toFailure(a.problemLine())
	case most != nil && *most == 0:
		return false, a.toFailure(a.problemLine())
	case most != nil && t.bad > *most:
		return false, a.toFailure(fmt.Sprintf("%s; that is bad answer %d, and retries = %d", a.problemLine(), t.bad, *most))
	}
	t.reportChange(a.comparisonKey(), a.problemLine())
	return false, nil
}

func (t *gateTally) reportChange(picture, message string) {
	if t.reported != picture {
		t.reported = picture
		t.report(message)
	}
}

func (t *gateTally) timeoutReasons(timeout string) []string {
	row := fmt.Sprintf("%d of %d good answers in a row", t.inRow, t.gate.Successes)
	switch {
	case t.last.isGood() && t.inRow == 0:
		return []string{timeout}
	case t.last.isGood():
		return []string{timeout + ": " + row}
	case t.inRow == 0:
		return []string{timeout + ": " + t.last.problemLine()}
	}
	return []string{timeout + ": " + t.last.problemLine(), row}
}

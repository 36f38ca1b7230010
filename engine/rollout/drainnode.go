package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/planner"
)

const (
	drainInterval  = 2 * time.Second // between two looks at the pods of a node
	skipWithoutAPI = time.Minute     // a drain that may be skipped waits so long for an API that is away
)

// runOnNode carries out a step on the node of the host.
func (r *stepRunner) runOnNode(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	w := &hostWait{r.gatherer, hp, heartbeat}
	switch do := s.Do; {
	case do.DrainNode != nil:
		d := newNodeDrain(w, s)
		err := d.run(ctx)
		r.drained.Store(hp.Host, d.taken)
		return err
	case do.UndrainNode != nil:
		return w.undrainNode(ctx, *do.UndrainNode)
	default:
		ordered, _ := r.ordered.Load(hp.Host)
		at, _ := ordered.(time.Time) // zero: a run before this one ordered the reboot
		return w.awaitNode(ctx, *do.AwaitNode, at)
	}
}

// nodeDrain drains one node.
type nodeDrain struct {
	*hostWait
	step  engine.Step
	want  engine.DrainNode
	began time.Time

	drain    kubefacts.Drain
	leased   bool               // the lease is taken, or the cluster has none
	cordoned bool               // the node is cordoned, by this run or before
	taken    takenNode          // what belongs to runs of holdfast
	told     string             // the cause of the wait at the last report
	lost     *kubefacts.Problem // why the API did not answer the last question; nil: it did
	unended  string             // tells of the pods that the silent kubelet of the node has not ended at the last look; "": none
}

func newNodeDrain(w *hostWait, s engine.Step) *nodeDrain {
	return &nodeDrain{hostWait: w, step: s, want: *s.Do.DrainNode, began: w.Clock.Now()}
}

// run takes the lease, cordons the node, and evicts its pods until none is left. Nothing evicts a pod by force: a pod whose budget allows
// no eviction stays until the time is over.
func (d *nodeDrain) run(ctx context.Context) error {
	options, err := planner.ParseDrainOptions(d.want.Options)
	if err != nil {
		return err
	}
	d.drain.Options, d.drain.WasNotReady = options, d.want.WasNotReady
	interval := drainInterval
	if d.Interval > 0 {
		interval = d.Interval
	}
	err = d.pollEvery(ctx, interval, d.look)
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	var f *engine.Failure
	switch {
	case err == nil || !errors.As(err, &f):
		return err
	case d.lost != nil:
		return &engine.Failure{Kind: engine.KubernetesFailure, Cause: f.Cause}
	case d.want.Options.OnTimeout == engine.ContinueOnTimeout:
		d.warnOfDrain(f.Cause + "; it is disrupted with them, because the drain of its pool has on_timeout = \"continue\"")
		d.warnOfDrain(d.unended)
		return nil
	case d.unended != "":
		f.Cause += "; " + d.unended
	}
	return &engine.Failure{Kind: engine.DrainFailure, Cause: f.Cause}
}

// warnOfDrain gives a warning about the drain, unless the text is empty.
func (d *nodeDrain) warnOfDrain(text string) {
	if text != "" {
		d.emitWarning(d.hp.Host + ": " + d.step.Name + ": " + text)
	}
}

// look takes the node if that is left to do, and evicts the pods that can go now. It returns the reason to look again, or "".
func (d *nodeDrain) look(ctx context.Context) (missing string, fatal error) {
	before := d.lost
	d.lost = nil
	defer func() {
		if ctx.Err() != nil { // the end of the time has interrupted a question, which tells nothing about the API
			d.lost = before
		}
	}()
	if !d.leased || !d.cordoned {
		if fatal := d.takeNode(ctx); fatal != nil {
			return "", fatal
		}
	}
	if d.lost != nil {
		if d.maySkip(ctx) {
			d.warnOfDrain(d.lost.Text() + "; it is disrupted without a drain, because the drain of its pool has when_unreachable = \"skip\"")
			return "", nil
		}
		return d.reportLost(), nil
	}
	n, problem := d.Nodes.ReadNode(ctx, d.want.Kubernetes, d.want.Node)
	if problem != nil {
		d.lost = problem
		return d.reportLost(), nil
	}
	w := d.Nodes.ReadWorkloads(ctx, map[string][]string{d.want.Kubernetes: {d.want.Node}})[d.want.Kubernetes]
	if w.Problem != nil {
		d.lost = w.Problem
		return d.reportLost(), nil
	}
	next := d.drain.Next(n, w)
	if next.Failure != "" {
		return "", &engine.Failure{Kind: engine.DrainFailure, Cause: next.Failure}
	}
	if d.unended = ""; len(next.Lost) > 0 {
		d.unended = kubefacts.DescribeLost(n.Name, next.Lost)
	}
	if next.Done {
		d.warnOfDrain(d.unended)
		return "", nil
	}
	d.evictPods(ctx, next.Evict, w)
	cause, left := "pods of "+strings.Join(d.drain.BudgetsThatHold(next.Left), ", "), d.drain.DescribeLeft(next.Left)
	if !n.Ready {
		cause += " on a node that is not Ready"
		left += fmt.Sprintf("; node %s is not Ready, so its kubelet may end no pods", n.Name)
	}
	return d.reportWait(cause, left), nil
}

// maySkip reports whether the host may be disrupted without a drain, because its API is away. An API that answers the read of the node only refuses
// a change, and its pods have budgets that it keeps.
func (d *nodeDrain) maySkip(ctx context.Context) bool {
	if d.cordoned || d.want.Options.WhenUnreachable != engine.SkipUnreachable || d.lost.Kind.IsOfBastion() || d.Clock.Now().Sub(d.began) < skipWithoutAPI {
		return false
	}
	_, problem := d.Nodes.ReadNode(ctx, d.want.Kubernetes, d.want.Node)
	return problem != nil && !problem.Kind.IsOfBastion() && ctx.Err() == nil
}

// reportWait reports why the drain waits, once for each cause. Otherwise a drain is as silent as any step.
func (d *nodeDrain) reportWait(cause, text string) string {
	if d.told != cause {
		d.told = cause
		d.heartbeat.reportMessage(text)
	}
	return text
}

// reportLost reports that the API is away, and returns the same text.
func (d *nodeDrain) reportLost() string {
	return d.reportWait("lost", fmt.Sprintf("the API of Kubernetes cluster %s does not answer: %s", d.want.Kubernetes, d.lost.Text()))
}

// takeNode takes the lease before it cordons the node, so that two tools never work on one node.
func (d *nodeDrain) takeNode(ctx context.Context) error {
	run := kubefacts.HolderOf(d.Start.Bastion, d.ID)
	if !d.leased {
		n, problem := d.Nodes.ReadNode(ctx, d.want.Kubernetes, d.want.Node)
		if problem != nil {
			d.lost = problem
			return nil
		}
		if n.Gone {
			return refuseGone(n)
		}
		answer, foreign, problem := d.Nodes.TakeLease(ctx, d.want.Kubernetes, kubefacts.LeaseRequest{Node: n.Name, NodeUID: n.UID, Holder: run, Duration: toDuration(d.want.LeaseFor)})
		switch {
		case problem != nil:
			d.lost = problem
			return nil
		case answer == kubefacts.LeaseForeign:
			return &engine.Failure{Kind: engine.HeldFailure, Cause: fmt.Sprintf("%s has the lease of node %s until %s", foreign.Holder, n.Name, foreign.RenewedAt.Add(foreign.Duration).UTC().Format("2006-01-02 15:04 MST"))}
		}
		d.leased, d.taken.leased = true, answer == kubefacts.LeaseTaken
	}
	n, problem := d.Nodes.Cordon(ctx, d.want.Kubernetes, d.want.Node, run)
	if problem != nil {
		d.lost = problem
		return nil
	}
	if n.Gone {
		return refuseGone(n)
	}
	d.cordoned, d.drain.NodeUID, d.taken.cordoned = true, n.UID, n.CordonedBy != ""
	return nil
}

func refuseGone(n kubefacts.Node) error {
	return &engine.Failure{Kind: engine.DrainFailure, Cause: kubefacts.DescribeGone(n.Name)}
}

// evictPods asks for the end of pods, one after the other, because each eviction may use up the budget of the next. A budget that has refused is not
// asked again in the same look: the pods of a node are often many, and share it.
func (d *nodeDrain) evictPods(ctx context.Context, pods []kubefacts.Pod, w kubefacts.Workload) {
	var grace *int
	if g := d.want.Options.GracePeriod; g != nil {
		seconds := int(toDuration(*g) / time.Second)
		grace = &seconds
	}
	refusals := map[string]kubefacts.Eviction{} // by budget
	for _, p := range pods {
		if ctx.Err() != nil {
			return
		}
		guard := w.GuardOf(p)
		e, refused := refusals[guard]
		if !refused {
			e = d.Nodes.Evict(ctx, d.want.Kubernetes, kubefacts.EvictionRequest{Pod: p, Grace: grace})
		}
		if guard != "" && e.Kind == kubefacts.BudgetRefused {
			refusals[guard] = e
		}
		d.drain.Note(p, e)
	}
}

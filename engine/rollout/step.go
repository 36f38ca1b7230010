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

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout/output"
	"holdfast/engine/textutil"
)

func (r *Run) runStep(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	_, failure := r.runStepInBatch(ctx, hp, s, 0)
	return failure
}

// runStepInBatch returns begun as false if the start of the step could not be journaled.
func (r *Run) runStepInBatch(ctx context.Context, hp engine.HostPlan, s engine.Step, batch int) (begun bool, failure *engine.Failure) {
	failure = r.runBetweenEvents(stepEvent(hp, s, batch), func(heartbeat *stepHeartbeat) error {
		begun = true
		return r.runOperationInTime(ctx, hp, s, heartbeat)
	})
	return begun, failure
}

// runUndoStep runs a step that undoes another step, even if the journal fails.
func (r *Run) runUndoStep(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	e := stepEvent(hp, s, 0)
	e.Type = event.StepStarted
	r.noteEvent(e)
	return r.runAndEmitEnd(e, func(heartbeat *stepHeartbeat) error { return r.runOperationInTime(ctx, hp, s, heartbeat) })
}

func stepEvent(hp engine.HostPlan, s engine.Step, batch int) event.Event {
	return event.Event{Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Kind: s.Kind(), Batch: batch}
}

func (r *Run) runOperationInTime(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	ctx, cancel := withStepTimeout(ctx, s)
	defer cancel()
	return r.runOperation(ctx, hp, s, heartbeat)
}

func (r *Run) runInterruptible(ctx context.Context, do func(context.Context) *engine.Failure) *engine.Failure {
	soft, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if r.Soft != nil {
		defer context.AfterFunc(r.Soft, func() { cancel(errStopped) })()
	}
	failure := do(soft)
	if failure == nil || soft.Err() == nil {
		return failure
	}
	return &engine.Failure{Host: failure.Host, Step: failure.Step, Cause: errStopped.Error(), Kind: engine.StoppedFailure}
}

func withStepTimeout(ctx context.Context, s engine.Step) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, toDuration(s.Timeout), fmt.Errorf("not done within %s", s.Timeout))
}

func (r *Run) runOperation(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	if err := r.checkHold(ctx, hp, s); err != nil {
		return err
	}
	do := s.Do
	switch {
	case do.Exec != nil:
		return r.runExec(ctx, hp, s, heartbeat)
	case do.Command != nil:
		return r.runCommand(ctx, hp, s)
	case do.Gate != nil:
		return r.askGate(ctx, hp, s, heartbeat)
	case do.Pause != nil:
		return r.Clock.Sleep(ctx, toDuration(do.Pause.For))
	case do.TakeHold != nil:
		return r.takeHold(ctx, hp, *do.TakeHold)
	case do.Release != nil:
		return r.releaseHold(ctx, hp, *do.Release)
	case do.Quorum != nil:
		return r.checkQuorum(ctx, hp, *do.Quorum)
	case do.Budget != nil:
		return r.checkBudget(ctx, do.Budget.Pool)
	case do.MoveLeader != nil:
		return r.moveLeader(ctx, hp, s, do.MoveLeader.Cluster)
	case do.AwaitBoot != nil:
		return r.awaitBoot(ctx, hp, *do.AwaitBoot, heartbeat)
	case do.AwaitUnits != nil:
		return r.awaitUnits(ctx, hp, *do.AwaitUnits, heartbeat)
	case do.AwaitEtcd != nil:
		return r.Clusters.AwaitMember(ctx, do.AwaitEtcd.Cluster, hp.Host, heartbeat.setMissing)
	case do.Defragment != nil:
		freed, err := r.Clusters.Defragment(ctx, do.Defragment.Cluster, hp.Host)
		if err == nil {
			r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: fmt.Sprintf("gave %.1f MiB back", float64(freed)/(1<<20))})
		}
		return err
	}
	return fmt.Errorf("this version does not know how to %q", s.Name)
}

func (r *Run) runScript(ctx context.Context, host string, s Script) (Reply, error) {
	conn, err := r.connectHost(ctx, host)
	if err != nil {
		return Reply{}, err
	}
	return runOn(ctx, conn, s)
}

// runOn runs a script, and notes whether it may have reached the host.
func runOn(ctx context.Context, conn Conn, s Script) (Reply, error) {
	reply, err := conn.Run(ctx, s)
	if s.Sent != nil && !errors.As(err, &NoContent{}) {
		s.Sent.Store(true)
	}
	return reply, err
}

// runIdempotent retries a script once, on a new connection, if the connection is lost.
func (r *Run) runIdempotent(ctx context.Context, host string, s Script) (Reply, error) {
	conn, err := r.connectHost(ctx, host)
	if err != nil {
		return Reply{}, err
	}
	began := r.Clock.Now()
	reply, err := runOn(ctx, conn, s)
	late := s.Timeout > 0 && r.Clock.Now().Sub(began) >= s.Timeout
	if err == nil || late || errors.As(err, &TooMuchOutput{}) || r.Clock.Sleep(ctx, r.pollInterval()) != nil {
		return reply, err
	}
	return r.runScript(ctx, host, s)
}

func (r *Run) connectHost(ctx context.Context, host string) (Conn, error) {
	h, ok := r.Inventory.Host(host)
	if !ok {
		return nil, fmt.Errorf("no host %q in the inventory", host)
	}
	return r.Hosts.Connect(ctx, h)
}

func (r *Run) runExec(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	throttle := &output.Throttle{Now: r.Clock.Now, Report: func(line string) { heartbeat.reportMessage(textutil.Printable(line)) }}
	defer throttle.ReportRest()
	progress := output.Splitter{Each: throttle.AddLine}
	run := r.runIdempotent
	switch {
	case s.ChangesHost || s.Reboots || s.Do.Exec.Once:
		run = r.runScript
	case s.Do.Exec.Content != nil:
		run = r.runTransfer
	}
	defer progress.Flush()
	var sent atomic.Bool
	reply, err := run(ctx, hp.Host, Script{Text: s.Do.Exec.Script, Uploads: s.Do.Exec.Uploads, Live: progress.Write, Op: s.Do, Content: s.Do.Exec.Content, Transfer: heartbeat.reportTransfer, Step: r.steps.Add(1), Sent: &sent})
	if f := scriptRefusal(reply, s); err == nil && f != nil {
		return f
	}
	if s.Reboots {
		if err != nil || reply.Code == 0 {
			return nil
		}
		return r.checkRebootOrder(ctx, hp, s, reply)
	}
	if stopped := new(engine.Failure); err != nil && errors.As(context.Cause(ctx), &stopped) { // the run has stopped the step
		return stopped
	}
	if err != nil {
		return &engine.Failure{Kind: engine.UnreachableFailure, Cause: err.Error(), Command: s.Do.Exec.DisplayText(), Stderr: textutil.KeepTail(reply.Stderr, 4096), NotStarted: !sent.Load()}
	}
	if reply.Code != 0 {
		f := scriptFailure(reply, fmt.Sprintf("exit status %d", reply.Code))
		f.Command = s.Do.Exec.DisplayText()
		if reply.Code == hostscript.ScriptActionFailed {
			f.Kind, f.Cause = engine.ActionFailure, cmp.Or(textutil.FirstLine(f.Stderr), f.Cause)
		}
		return f
	}
	return nil
}

func scriptRefusal(reply Reply, s engine.Step) *engine.Failure {
	causes := map[int]engine.Failure{
		hostscript.ScriptHeld:    {Kind: engine.HeldFailure, Cause: "somebody else holds the host"},
		hostscript.ScriptChanged: {Kind: engine.ChangedFailure, Cause: "the host is not as planned any more; nothing was done"},
		hostscript.ScriptNoSpace: {Kind: engine.FullFailure, Cause: "too little free space; nothing was done"},
		hostscript.ScriptCannot:  {Kind: engine.CannotFailure, Cause: "the host refused the change; nothing was changed"},
	}
	f, ok := causes[reply.Code]
	if !ok {
		return nil
	}
	f.Stderr, f.Command = textutil.KeepTail(reply.Stderr, 4096), s.Do.Exec.DisplayText()
	f.Cause = cmp.Or(refusalLine(f.Stderr, reply.Code), f.Cause)
	return &f
}

// refusalLine returns the line with the reason of a failed script: the first
// line. If the disk is full, the reason is the last line of a tool. The
// script's own last line, "all was put back", does not count.
func refusalLine(stderr string, code int) string {
	if code != hostscript.ScriptNoSpace {
		return textutil.FirstLine(stderr)
	}
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(stderr), "\n")) {
		if line = strings.TrimSpace(line); !strings.HasSuffix(line, "all was put back") {
			return line
		}
	}
	return ""
}

// checkRebootOrder judges a script that orders a reboot. A lost connection or
// an odd exit status means nothing, because systemd may stop sshd first. The
// host has refused the order only if it still answers and is not shutting down.
func (r *Run) checkRebootOrder(ctx context.Context, hp engine.HostPlan, s engine.Step, reply Reply) error {
	state, err := r.runScript(ctx, hp.Host, Script{Purpose: StateScript, Text: "systemctl is-system-running", Timeout: 10 * time.Second})
	if err != nil || textutil.FirstLine(state.Stdout) == "stopping" {
		return nil
	}
	f := scriptFailure(reply, fmt.Sprintf("exit status %d, and the host is not going down", reply.Code))
	f.Command = s.Do.Exec.DisplayText()
	return f
}

func (r *Run) runCommand(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	command := s.Do.Command.Command
	reply, err := r.runOnBastion(ctx, hp, command)
	if err == nil && reply.Code == 0 {
		return nil
	}
	f := scriptFailure(reply, fmt.Sprintf("exit status %d", reply.Code))
	if err != nil {
		f.Cause = err.Error()
	}
	f.Command = command
	return f
}

func (r *Run) runOnBastion(ctx context.Context, hp engine.HostPlan, command string) (Reply, error) {
	h, _ := r.Inventory.Host(hp.Host)
	env := []string{"HOLDFAST_HOST=" + hp.Host, "HOLDFAST_ADDRESS=" + h.Address, "HOLDFAST_POOL=" + hp.Pool, "HOLDFAST_RUN=" + r.ID}
	return r.Local.Run(ctx, command, env)
}

// moveLeader moves leadership off a host. The only member of a cluster keeps
// the leadership, and the quorum check before has allowed the outage.
func (r *Run) moveLeader(ctx context.Context, hp engine.HostPlan, s engine.Step, cluster string) error {
	if len(r.Inventory.Members(cluster)) == 1 {
		return nil
	}
	to, err := r.Clusters.MoveLeader(ctx, cluster, hp.Host)
	if err == nil && to != "" {
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: cluster, Step: s.Name, Message: "leader is now " + to})
	}
	return err
}

package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout/output"
	"holdfast/engine/textutil"
)

// stepRunner carries steps out.
type stepRunner struct {
	*gatherer
	gates        gateAsker
	batchHolds   *sharedGather // holds that the hosts of the current batch share
	scripts      atomic.Int64  // number of the last step that ran a script
	resets       sync.Map      // hosts that were reset, because they did not come back
	owners       sync.Map      // owners of the holds of people under which steps work, by host
	drained      sync.Map      // nodes that this run has taken, by host
	switched     sync.Map      // hosts to whose controllers an order was sent
	ordered      sync.Map      // when this run last ordered a reboot, by host
	quorumProofs sync.Map      // quorum checks that the next step rests on, as quorumProof, by host
	soleVoters   sync.Map      // hosts that had the only voter of their cluster at their last quorum check
}

func (r *stepRunner) runStep(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	_, failure := r.runStepInBatch(ctx, hp, s, 0)
	return failure
}

// runStepInBatch returns begun as false if the step did nothing, because its start could not be journaled or its conditions did
// not hold.
func (r *stepRunner) runStepInBatch(ctx context.Context, hp engine.HostPlan, s engine.Step, batch int) (begun bool, failure *engine.Failure) {
	e := stepEvent(hp, s, batch)
	e.Aim, e.NewOS = r.aimOf(hp, s), mayBringOS(hp, s)
	failure = r.runBetweenEvents(e, func(heartbeat *stepHeartbeat) error {
		return r.runChecked(ctx, hp, s, func(ctx context.Context) error {
			begun = true
			return r.runOperation(ctx, hp, s, heartbeat)
		})
	})
	return begun, failure
}

// runUndoStep runs a step that undoes another step, even if the journal fails.
func (r *stepRunner) runUndoStep(ctx context.Context, hp engine.HostPlan, s engine.Step) *engine.Failure {
	e := stepEvent(hp, s, 0)
	e.Type = event.StepStarted
	r.noteEvent(e)
	return r.runAndEmitEnd(e, func(heartbeat *stepHeartbeat) error {
		return r.runChecked(ctx, hp, s, func(ctx context.Context) error { return r.runOperation(ctx, hp, s, heartbeat) })
	})
}

// runChecked calls operate, within the time of the step, if the conditions of the step hold.
func (r *stepRunner) runChecked(ctx context.Context, hp engine.HostPlan, s engine.Step, operate func(context.Context) error) error {
	ctx, cancel := withStepTimeout(ctx, s)
	defer cancel()
	if err := r.checkStepConditions(ctx, hp, s); err != nil {
		return err
	}
	return operate(ctx)
}

func stepEvent(hp engine.HostPlan, s engine.Step, batch int) event.Event {
	e := event.Event{Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Kind: s.Kind(), Batch: batch, Limit: s.Timeout}
	isRollback := slices.ContainsFunc(hp.Rollback, func(r engine.Step) bool { return r.Reboots && r.Name == s.Name })
	if s.Reboots && !isRollback {
		e.Reboot = hp.Reboot
	}
	return e
}

// aimOf returns the aim of a step that changes a host under a hold. A later run that cannot reach the host finds it in the
// journal.
func (r *stepRunner) aimOf(hp engine.HostPlan, s engine.Step) string {
	if s.Do.Exec == nil || !s.ChangesHost && !s.Reboots {
		return ""
	}
	return aimOfHost(r.Options, hp)
}

// mayBringOS reports whether a host may get another OS from a step on. A sequence that brings one records the roll-out when it
// takes the hold. A dead run may have left another OS on the host that it held.
func mayBringOS(hp engine.HostPlan, s engine.Step) bool {
	return s.Do.TakeHold != nil && s.Do.TakeHold.Rollout != nil || hp.Adopt != "" && s.Reboots
}

func withStepTimeout(ctx context.Context, s engine.Step) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, toDuration(s.Timeout), fmt.Errorf("not done within %s", s.Timeout))
}

func (r *stepRunner) runOperation(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	do := s.Do
	switch {
	case do.Exec != nil:
		return r.runExec(ctx, hp, s, heartbeat)
	case do.Command != nil:
		return r.runCommand(ctx, hp, s)
	case do.Gate != nil:
		return r.gates.askGate(ctx, hp, s, heartbeat)
	case do.Pause != nil:
		return r.Clock.Sleep(ctx, toDuration(do.Pause.For))
	case do.TakeHold != nil && do.TakeHold.Kind == engine.MaintenanceHold:
		return r.takeMaintenanceHold(ctx, hp.Host, *do.TakeHold)
	case do.ExtendHold != nil:
		return r.extendHold(ctx, hp.Host, *do.ExtendHold)
	case do.EndHold != nil:
		return r.endHold(ctx, hp.Host, *do.EndHold)
	case do.NoteDrain != nil:
		return r.noteDrain(ctx, hp.Host, *do.NoteDrain)
	case do.StayOff != nil, do.PowerAsBefore != nil, do.AwaitAnswer != nil, do.ShutDown != nil, do.SwitchPower != nil:
		return r.runPowerOperation(ctx, hp, s)
	case do.AcceptUnits != nil:
		return r.keepHoldsOfPeople().Accept(ctx, hp.Host)
	case do.TakeHold != nil:
		return r.takeHold(ctx, hp, *do.TakeHold)
	case do.Release != nil:
		return r.keepHolds().Release(ctx, hp.Host, *do.Release)
	case do.Quorum != nil:
		return r.checkQuorum(ctx, hp, *do.Quorum)
	case do.Budget != nil:
		return r.checkBudget(ctx, do.Budget.Pool)
	case do.MoveLeader != nil:
		return r.moveLeader(ctx, hp, s, do.MoveLeader.Cluster)
	case do.AwaitBoot != nil:
		return (&hostWait{r.gatherer, hp, heartbeat}).awaitBoot(ctx, *do.AwaitBoot, r.newBootReset(hp, *do.AwaitBoot))
	case do.AwaitUnits != nil:
		return (&hostWait{r.gatherer, hp, heartbeat}).awaitUnits(ctx, *do.AwaitUnits)
	case do.ProveLogin != nil:
		return r.proveLogin(ctx, hp, s)
	case do.RestartSurvivors != nil:
		return r.restartSurvivors(ctx, hp, s)
	case do.AwaitEtcd != nil:
		return r.Clusters.AwaitMember(ctx, do.AwaitEtcd.Cluster, hp.Host, heartbeat.setMissing)
	case do.AwaitNode != nil, do.DrainNode != nil, do.UndrainNode != nil:
		return r.runOnNode(ctx, hp, s, heartbeat)
	case do.Defragment != nil:
		freed, err := r.Clusters.Defragment(ctx, do.Defragment.Cluster, hp.Host)
		if err == nil {
			r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: fmt.Sprintf("gave %.1f MiB back", float64(freed)/(1<<20))})
		}
		return err
	}
	return fmt.Errorf("this version does not know how to %q", s.Name)
}

func (r *stepRunner) runExec(ctx context.Context, hp engine.HostPlan, s engine.Step, heartbeat *stepHeartbeat) error {
	if s.Reboots {
		r.ordered.Store(hp.Host, r.Clock.Now())
	}
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
	reply, err := run(ctx, hp.Host, Script{Text: s.Do.Exec.Script.String(), Uploads: s.Do.Exec.Uploads, Live: progress.Write, Op: s.Do, Content: s.Do.Exec.Content, Transfer: heartbeat.reportTransfer, Step: r.scripts.Add(1), Sent: &sent})
	if f := r.scriptRefusal(reply, s); err == nil && f != nil {
		return f
	}
	if s.Reboots && (err == nil || sent.Load()) { // an order that did not leave the bastion has failed like any other step
		if err != nil || reply.Code == 0 {
			return nil
		}
		return r.checkRebootOrder(ctx, hp, s, reply)
	}
	if stopped := new(engine.Failure); err != nil && errors.As(context.Cause(ctx), &stopped) { // the run has stopped the step
		return stopped
	}
	if err != nil {
		return &engine.Failure{Kind: engine.UnreachableFailure, Cause: err.Error(), Command: s.Do.Exec.DisplayText(), Stderr: r.Secrets.KeepTail(reply.Stderr, 4096), NotStarted: !sent.Load()}
	}
	if reply.Code != 0 {
		f := r.scriptFailure(reply, fmt.Sprintf("exit status %d", reply.Code))
		f.Command = s.Do.Exec.DisplayText()
		switch reply.Code {
		case hostscript.ScriptActionFailed:
			f.Kind, f.Cause = engine.ActionFailure, cmp.Or(textutil.FirstLine(f.Stderr), f.Cause)
		case hostscript.ScriptHalfDone:
			f.Cause = cmp.Or(lastLine(f.Stderr), "it failed in the middle, and could not be undone")
		}
		if fault := r.findContentFault(ctx, s); fault != nil {
			f.Cause = fault.Error()
		}
		return f
	}
	return nil
}

func (p *Ports) scriptFailure(reply Reply, cause string) *engine.Failure {
	return &engine.Failure{Stderr: p.Secrets.KeepTail(reply.Stderr, 4096), Cause: cause}
}

func (p *Ports) scriptRefusal(reply Reply, s engine.Step) *engine.Failure {
	causes := map[int]engine.Failure{
		hostscript.ScriptHeld:    {Kind: engine.HeldFailure, Cause: "somebody else holds the host"},
		hostscript.ScriptBusy:    {Kind: engine.HeldFailure, Cause: "another script of holdfast works on the host; nothing was done"},
		hostscript.ScriptChanged: {Kind: engine.ChangedFailure, Cause: "the host is not as planned any more; nothing was done"},
		hostscript.ScriptNoSpace: {Kind: engine.FullFailure, Cause: "too little free space; nothing was done"},
		hostscript.ScriptCannot:  {Kind: engine.CannotFailure, Cause: "the host refused the change; nothing was changed"},

		hostscript.ScriptOldProcess: {Kind: engine.ChangedFailure, Cause: "a service runs from a deployment that would go; nothing was done"},
	}
	f, ok := causes[reply.Code]
	if !ok {
		return nil
	}
	f.Stderr, f.Command = p.Secrets.KeepTail(reply.Stderr, 4096), s.Do.Exec.DisplayText()
	f.Cause = cmp.Or(refusalLine(f.Stderr, reply.Code), f.Cause)
	return &f
}

// refusalLine returns the line with the reason of a failed script: the first
// line. If the disk is full, the reason is the last line, of a tool.
func refusalLine(stderr string, code int) string {
	if code != hostscript.ScriptNoSpace {
		return textutil.FirstLine(stderr)
	}
	return lastLine(stderr)
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])
}

// checkRebootOrder judges a script that orders a reboot. A lost connection or
// an odd exit status means nothing, because systemd may stop sshd first. The
// host has refused the order only if it still answers and is not shutting down.
func (r *stepRunner) checkRebootOrder(ctx context.Context, hp engine.HostPlan, s engine.Step, reply Reply) error {
	state, err := r.runScript(ctx, hp.Host, Script{Purpose: StateScript, Text: "systemctl is-system-running", Timeout: 10 * time.Second})
	if err != nil || textutil.FirstLine(state.Stdout) == "stopping" {
		return nil
	}
	f := r.scriptFailure(reply, fmt.Sprintf("exit status %d, and the host is not going down", reply.Code))
	if reply.Code == hostscript.ScriptHalfDone {
		f.Cause = cmp.Or(lastLine(f.Stderr), f.Cause)
	}
	f.Command = s.Do.Exec.DisplayText()
	return f
}

func (r *stepRunner) runCommand(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	command := s.Do.Command.Command
	reply, err := r.runOnBastion(ctx, hp, command)
	if err == nil && reply.Code == 0 {
		return nil
	}
	f := r.scriptFailure(reply, fmt.Sprintf("exit status %d", reply.Code))
	if err != nil {
		f.Cause = err.Error()
	}
	f.Command = command
	return f
}

// moveLeader moves leadership off a host. The only voter of a cluster keeps
// the leadership, and the quorum check before has allowed the outage.
func (r *stepRunner) moveLeader(ctx context.Context, hp engine.HostPlan, s engine.Step, cluster string) error {
	if _, asked := r.soleVoters.Load(hp.Host); !asked { // the sequence of a host that a dead run left begins without this check
		if err := r.checkQuorum(ctx, hp, engine.Quorum{Cluster: cluster, Down: true}); err != nil {
			return err
		}
	}
	if r.isSoleVoter(hp.Host) {
		return nil
	}
	to, err := r.Clusters.MoveLeader(ctx, cluster, hp.Host)
	if err == nil && to != "" {
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: cluster, Step: s.Name, Message: "leader is now " + to})
	}
	return err
}

func (r *stepRunner) mayGoOn(ctx context.Context) error {
	if r.isStopping() || ctx.Err() != nil {
		return &engine.Failure{Cause: errStopped.Error(), Kind: engine.StoppedFailure}
	}
	if err := r.firstError(); err != nil {
		return &engine.Failure{Cause: err.Error(), Kind: engine.JournalFailure}
	}
	return nil
}

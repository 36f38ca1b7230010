package rollout

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// shutDownTimeout bounds the order to shut down, with its sync of the disks.
const shutDownTimeout = 2 * time.Minute

// shutDown tells a held host to shut down. A lost answer is no failure, because a host that shuts down may not send it.
func (r *stepRunner) shutDown(ctx context.Context, host string, d engine.ShutDown) error {
	var sent atomic.Bool
	script := hostscript.ShutDownScript(engine.HoldOwner{Run: d.Run, Bastion: d.Bastion})
	reply, err := r.runScript(ctx, host, Script{Text: script, Timeout: shutDownTimeout, Sent: &sent})
	switch {
	case err != nil && !sent.Load():
		return &engine.Failure{Kind: engine.UnreachableFailure, Cause: "unreachable: " + err.Error(), NotStarted: true}
	case err != nil:
		return nil
	case reply.Code == hostscript.ScriptHeld:
		return &engine.Failure{Kind: engine.HeldFailure, Cause: textutil.Printable(hostscript.DescribeHolder(reply))}
	case reply.Code != 0:
		return &engine.Failure{Kind: engine.CannotFailure, Cause: fmt.Sprintf("the host does not shut down: exit status %d; look at it, and use --force to cut its power", reply.Code), Stderr: r.Secrets.KeepTail(reply.Stderr, 4096)}
	}
	return nil
}

func (r *stepRunner) switchPower(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	host, _ := r.Inventory.Host(hp.Host)
	return r.Power.Switch(ctx, host, *s.Do.SwitchPower, func(text string) {
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: text})
	})
}

package rollout

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

func (r *stepRunner) runPowerOperation(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	switch do := s.Do; {
	case do.AwaitAnswer != nil:
		return r.awaitAnswer(ctx, hp.Host)
	case do.ShutDown != nil:
		return r.shutDown(ctx, hp.Host, s)
	case r.Power == nil:
		return fmt.Errorf("this run has no access to the power of hosts, which %q needs", s.Name)
	case do.StayOff != nil:
		return r.keepOff(ctx, hp, s)
	case do.PowerAsBefore != nil:
		return r.changePower(ctx, hp, s, *do.PowerAsBefore)
	}
	return r.switchPower(ctx, hp, s)
}

// shutDownTimeout bounds the order to shut down, with its sync of the disks.
const shutDownTimeout = 2 * time.Minute

// shutDown tells a held host to shut down. A lost answer is no failure, because a host that shuts down may not send it.
func (r *stepRunner) shutDown(ctx context.Context, host string, s engine.Step) error {
	d := *s.Do.ShutDown
	var sent atomic.Bool
	owner := engine.HoldOwner(d)
	if d.Run == "" {
		owner = r.holdOwner()
	}
	script := hostscript.ShutDownScript(owner)
	reply, err := r.runScript(ctx, host, Script{Text: script, Timeout: shutDownTimeout, Sent: &sent, Op: engine.Op{ShutDown: &d}})
	switch {
	case err != nil && !sent.Load():
		return &engine.Failure{Kind: engine.UnreachableFailure, Cause: "unreachable: " + err.Error(), NotStarted: true}
	case err != nil:
		return nil
	case hostscript.IsHeldElsewhere(reply.Code):
		return &engine.Failure{Kind: engine.HeldFailure, Cause: textutil.Printable(hostscript.DescribeHolder(reply))}
	case reply.Code != 0:
		cause := fmt.Sprintf("the host does not shut down: exit status %d", reply.Code)
		if !s.MayFail {
			cause += "; look at it, and use --force to cut its power"
		}
		return &engine.Failure{Kind: engine.CannotFailure, Cause: cause, Stderr: r.Secrets.KeepTail(reply.Stderr, 4096)}
	}
	return nil
}

func (r *stepRunner) switchPower(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	host, _ := r.Inventory.Host(hp.Host)
	sending := false
	err := r.Power.Switch(ctx, host, *s.Do.SwitchPower, func(text string) error {
		if s.Do.SwitchPower.CheckHold {
			if err := r.checkBeforeCut(ctx, hp.Host, s.Do.SwitchPower.To); err != nil {
				return err
			}
		}
		sending = true
		r.switched.Store(hp.Host, true)
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: text})
		return nil
	})
	if unsure := unsureReset(err); unsure != nil && sending && s.Do.SwitchPower.To == engine.PowerReset {
		return unsure
	}
	return err
}

// checkBeforeCut returns an error if the host answers, and has lost the hold under which the steps work. A host that hangs, for
// example in its shutdown, does not answer.
func (r *stepRunner) checkBeforeCut(ctx context.Context, host string, to engine.PowerTarget) error {
	k := r.keepHolds()
	k.Owner = r.ownerOf(host)
	limited, cancel := context.WithTimeout(ctx, toDuration(engine.CutCheckTimeout))
	defer cancel()
	var f *engine.Failure
	if err := k.Check(limited, host); errors.As(err, &f) && f.Kind == engine.HeldFailure {
		lost := *f
		if to == engine.PowerReset {
			lost.Cause += "; it was not reset"
		} else {
			lost.Cause += "; its power was not cut"
		}
		return &lost
	}
	return ctx.Err()
}

// alwaysOff is a PowerRestorePolicy of Redfish.
const alwaysOff = "AlwaysOff"

// keepOff writes the settings of the controller into the hold before it changes them, so that a release restores them after any
// interruption.
func (r *stepRunner) keepOff(ctx context.Context, hp engine.HostPlan, s engine.Step) error {
	host, _ := r.Inventory.Host(hp.Host)
	now, err := r.Power.Read(ctx, host)
	if err != nil {
		return err
	}
	err = r.changeHold(ctx, hp.Host, func(h *engine.Hold) {
		if h.PowerBefore == nil {
			h.PowerBefore = &engine.PowerKeeping{RestorePolicy: r.cutWord(now.RestorePolicy), Light: now.Light, Indicator: r.cutWord(now.Indicator)}
		}
	})
	if err != nil {
		return err
	}
	keep := engine.PowerKeeping{}
	if now.RestorePolicy != "" {
		keep.RestorePolicy = alwaysOff
	} else {
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: "its controller does not tell the power after a power cut, so the host may start when the mains return"})
	}
	if on := true; now.Light != nil {
		keep.Light = &on
	} else if now.Indicator != "" {
		keep.Indicator = blinking
	}
	return r.changePower(ctx, hp, s, keep)
}

// blinking is a word of IndicatorLED, with which a BMC shows its host. Some BMCs are Lit all the time.
const blinking = "Blinking"

// changePower changes settings of the controller of a host. A light that cannot be changed is only told: the host is found by its label.
func (r *stepRunner) changePower(ctx context.Context, hp engine.HostPlan, s engine.Step, keep engine.PowerKeeping) error {
	host, _ := r.Inventory.Host(hp.Host)
	light := keep
	light.RestorePolicy = ""
	if keep.RestorePolicy != "" {
		if err := r.Power.Keep(ctx, host, engine.PowerKeeping{RestorePolicy: keep.RestorePolicy}); err != nil {
			return err
		}
		if err := r.awaitPolicy(ctx, host, keep.RestorePolicy); err != nil {
			return err
		}
	}
	if light == (engine.PowerKeeping{}) {
		return nil
	}
	if err := r.Power.Keep(ctx, host, light); err != nil {
		r.noteEvent(event.Event{Type: event.StepProgress, Host: hp.Host, Pool: hp.Pool, Cluster: hp.Cluster, Step: s.Name, Message: "its light was not changed: " + r.Secrets.Hide(err.Error())})
	}
	return nil
}

// A BMC may accept a setting before it carries it out, or never carry it out.
const (
	policyTime  = 10 * time.Second // until the BMC reports the setting
	policyPause = time.Second
)

// awaitPolicy waits until the controller of a host reports a power after a power cut.
func (r *stepRunner) awaitPolicy(ctx context.Context, host engine.Host, policy string) error {
	for began := r.Clock.Now(); ; {
		now, err := r.Power.Read(ctx, host)
		switch late := r.Clock.Now().Sub(began) >= policyTime; {
		case err == nil && now.RestorePolicy == policy:
			return nil
		case late && err != nil:
			return err
		case late:
			return &engine.Failure{Kind: engine.CannotFailure, Cause: fmt.Sprintf("the controller accepted %s as the power after a power cut, and still reports %q after %s; set it in the firmware of the host, and repeat the command; or use --force, and pull the plug", r.cutWord(policy), r.cutWord(now.RestorePolicy), policyTime)}
		}
		if err := r.Clock.Sleep(ctx, policyPause); err != nil {
			return err
		}
	}
}

// answerPause is the time between two attempts to reach a host that was switched on.
const answerPause = 2 * time.Second

func (r *stepRunner) awaitAnswer(ctx context.Context, host string) error {
	for {
		_, err := r.keepHoldsOfPeople().Read(ctx, host)
		if err == nil {
			return nil
		}
		if r.Clock.Sleep(ctx, answerPause) != nil {
			return &engine.Failure{Kind: engine.UnreachableFailure, Cause: fmt.Sprintf("%v; it is still held: look at its console, and release it again", err)}
		}
	}
}

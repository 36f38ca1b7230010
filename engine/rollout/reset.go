package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
)

// bootReset resets a host that does not come back from a reboot of the run, once. Another run that waits for the same reboot, because
// this one was killed, does not reset the host.
type bootReset struct {
	*stepRunner
	hp           engine.HostPlan
	silenceLimit time.Duration // the host is reset once it has been silent for this time; 0: it is never reset
	silentSince  time.Time     // last answer of the host, or the begin of the wait
	wasTried     bool          // the one attempt was made
	waitNote     string        // shown with the wait: the outcome of the reset, or why it is not done yet; "": nothing to tell
}

func (r *stepRunner) newBootReset(hp engine.HostPlan, want engine.AwaitBoot) *bootReset {
	return &bootReset{stepRunner: r, hp: hp, silenceLimit: toDuration(want.ResetAfter), silentSince: r.Clock.Now()}
}

// noteProbe gets the result of each probe of the host, and its end by the wall clock without suspends of the bastion. It
// resets a host that has not answered in any way for long enough. A check that forbids the reset is told once. Later
// probes try again. It returns a note for the wait: the outcome of the reset, or why it is not done.
func (b *bootReset) noteProbe(ctx context.Context, at time.Time, err error) string {
	var f *engine.Failure
	switch isSilent := errors.As(err, &f) && f.Silent; {
	case ctx.Err() != nil: // the probe was interrupted
		return b.waitNote
	case !isSilent:
		b.silentSince = b.Clock.Now()
		return b.waitNote
	case b.wasTried || b.silenceLimit == 0 || b.Clock.Now().Sub(b.silentSince) < b.silenceLimit:
		return b.waitNote
	}
	defer b.quorumProofs.Delete(b.hp.Host) // no later step rests on this check
	c, _ := b.Inventory.Cluster(b.hp.Cluster)
	began := b.Clock.Now()
	err = b.checkReset(ctx)
	at = at.Add(min(b.Clock.Now().Sub(began), 2*checkTime(c))) // as for a quorum check; etcd is asked twice
	if err == nil && b.areChecksOld(at) {
		err = errOldChecks
	}
	if err != nil {
		b.tellNoReset(err)
		return b.waitNote
	}
	b.wasTried = true
	if err := b.journalReset(); err != nil {
		b.tellNoReset(err)
		return b.waitNote
	}
	if b.areChecksOld(at) {
		b.wasTried = false
		b.resets.Delete(b.hp.Host)
		b.withdrawReset(errOldChecks)
		return b.waitNote
	}
	failure := b.sendReset(ctx)
	switch unsure := unsureReset(failure); {
	case failure == nil:
		b.waitNote = "; it was reset at " + b.Clock.Now().UTC().Format("15:04:05 UTC")
	case unsure != nil:
		b.waitNote = "; " + unsure.Cause
		b.noteEvent(event.Event{Type: event.Warned, Host: b.hp.Host, Message: b.hp.Host + ": it has not come back from its reboot; " + unsure.Cause})
	default:
		b.withdrawReset(failure)
	}
	return b.waitNote
}

// maxSilenceAge bounds the age of the probe on which a reset rests. The checks after it may each wait for an answer that does
// not come.
const maxSilenceAge = time.Minute

// areChecksOld reports whether the bastion was delayed since the probe of the host, because it was suspended, or its disk was
// slow: the host may have come back meanwhile, or another member may have failed.
func (b *bootReset) areChecksOld(probed time.Time) bool {
	now := b.Clock.Now()
	proof, checked := b.quorumProofs.Load(b.hp.Host)
	return wallTimeBetween(probed, now) > maxSilenceAge || checked && !proof.(quorumProof).isFresh(now)
}

var errOldChecks = errors.New("the checks before the reset are out of date, because they or the bastion were slow; they are repeated")

// withdrawReset tells why a reset that is in the journal was not sent.
func (b *bootReset) withdrawReset(err error) {
	b.noteEvent(event.Event{
		Type: event.Warned, Host: b.hp.Host, Pool: b.hp.Pool, Reset: true, Failure: asFailure(err, b.hp.Host, ""),
		Message: b.hp.Host + ": it has not come back from its reboot, and is not reset: " + err.Error(),
	})
	b.waitNote = "; it was not reset: " + err.Error()
}

// tellNoReset tells once why the host is not reset.
func (b *bootReset) tellNoReset(err error) {
	if b.waitNote == "" {
		b.noteEvent(event.Event{Type: event.Warned, Host: b.hp.Host, Message: b.hp.Host + ": it has not come back from its reboot, and is not reset: " + err.Error()})
	}
	b.waitNote = "; it was not reset: " + err.Error()
}

// unsureReset returns the failure of a reset that may have been carried out, or nil if err proves that it was not.
func unsureReset(err error) *engine.Failure {
	var f *engine.Failure
	if err == nil || errors.As(err, &f) && f.NotStarted {
		return nil
	}
	return &engine.Failure{Kind: engine.CannotFailure, Cause: "it may have been reset: " + err.Error()}
}

// checkReset returns an error unless the reset disturbs nobody: a host whose member of etcd answers has come back, the cluster
// must still be able to lose the host, and somebody may have switched the host off meanwhile. The silence begins again for a host
// whose member answers, and for one that is off: it may boot soon.
func (b *bootReset) checkReset(ctx context.Context) error {
	host, _ := b.Inventory.Host(b.hp.Host)
	if b.Power == nil || host.BMC == nil {
		return errors.New("this run has no access to its BMC")
	}
	if cluster := b.hp.Cluster; cluster != "" {
		facts := b.Clusters.Gather(ctx, cluster)
		if facts.HasHealthyMember(b.hp.Host) {
			b.silentSince = b.Clock.Now()
			return errors.New("its etcd member answers, so only its SSH does not")
		}
		if b.isOutageAllowed(facts) {
			return b.checkPower(ctx, host)
		}
		if err := b.checkQuorum(ctx, b.hp, engine.Quorum{Cluster: cluster, Down: true}); err != nil {
			return err
		}
	}
	return b.checkPower(ctx, host)
}

// isOutageAllowed reports whether the host had the only voter of its cluster before the reboot, no other answers now, and its outage is
// allowed. No member is left then that could tell how the cluster is.
func (b *bootReset) isOutageAllowed(facts etcdfacts.ClusterFacts) bool {
	c, _ := b.Inventory.Cluster(b.hp.Cluster)
	return c.AllowOutage && b.isSoleVoter(b.hp.Host) && len(facts.Voters()) <= 1
}

func (b *bootReset) checkPower(ctx context.Context, host engine.Host) error {
	now, err := b.Power.Read(ctx, host)
	if err == nil && now.Power != powerOn {
		b.silentSince = b.Clock.Now()
		err = fmt.Errorf("its power is %s", b.cutWord(now.Power))
	}
	return err
}

// powerOn is a PowerState of Redfish.
const powerOn = "On"

// journalReset journals the one reset of a host, before it is sent.
func (b *bootReset) journalReset() error {
	if _, before := b.resets.LoadOrStore(b.hp.Host, true); before {
		return errors.New("this run has reset it before")
	}
	return b.emitEvent(event.Event{
		Type: event.Warned, Host: b.hp.Host, Pool: b.hp.Pool, Reset: true,
		Message: fmt.Sprintf("%s: it has not come back from its reboot within %s, and is reset once, through its BMC", b.hp.Host, engine.Duration(b.silenceLimit)),
	})
}

func (b *bootReset) sendReset(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, toDuration(engine.SwitchTimeout), fmt.Errorf("not done within %s", engine.SwitchTimeout))
	defer cancel()
	host, _ := b.Inventory.Host(b.hp.Host)
	return b.Power.Switch(ctx, host, engine.SwitchPower{To: engine.PowerReset}, func(string) error { return nil })
}

package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// bootReset resets a host that does not come back from a reboot of the run, once. Another run that waits for the same reboot, because
// this one was killed, does not reset the host.
type bootReset struct {
	*stepRunner
	hp    engine.HostPlan
	after time.Duration // since the begin of the wait; 0: never
	began time.Time
	told  string // the outcome of the one attempt, for the text about the wait; "": it has not been tried
}

func (r *stepRunner) newBootReset(hp engine.HostPlan, want engine.AwaitBoot) *bootReset {
	return &bootReset{stepRunner: r, hp: hp, after: toDuration(want.ResetAfter), began: r.Clock.Now()}
}

// resetIfDue gets the error of a host that has not come back. It does nothing as long as the host answers in any way.
func (b *bootReset) resetIfDue(ctx context.Context, err error) string {
	var f *engine.Failure
	isSilent := errors.As(err, &f) && f.Silent
	if b.told != "" || b.after == 0 || !isSilent || b.Clock.Now().Sub(b.began) < b.after || ctx.Err() != nil {
		return b.told
	}
	failure := b.checkReset(ctx)
	if failure == nil {
		failure = b.journalReset()
	}
	var unsure *engine.Failure
	if failure == nil {
		failure = b.sendReset(ctx)
		unsure = unsureReset(failure)
	}
	switch {
	case failure == nil:
		b.told = "; it was reset at " + b.Clock.Now().UTC().Format("15:04:05 UTC")
	case unsure != nil:
		b.told = "; " + unsure.Cause
		b.noteEvent(event.Event{Type: event.Warned, Host: b.hp.Host, Message: b.hp.Host + ": it has not come back from its reboot; " + unsure.Cause})
	default:
		b.told = "; it was not reset: " + failure.Error()
		b.noteEvent(event.Event{Type: event.Warned, Host: b.hp.Host, Message: b.hp.Host + ": it has not come back from its reboot, and is not reset: " + failure.Error()})
	}
	return b.told
}

// unsureReset returns the failure of a reset that may have been carried out, or nil if err proves that it was not.
func unsureReset(err error) *engine.Failure {
	var f *engine.Failure
	if err == nil || errors.As(err, &f) && f.NotStarted {
		return nil
	}
	return &engine.Failure{Kind: engine.CannotFailure, Cause: "it may have been reset: " + err.Error()}
}

// checkReset returns an error unless the reset disturbs nobody: a host whose member of etcd answers has come back, the cluster must
// still be able to lose the host, and somebody may have switched the host off meanwhile.
func (b *bootReset) checkReset(ctx context.Context) error {
	host, _ := b.Inventory.Host(b.hp.Host)
	if b.Power == nil || host.BMC == nil {
		return errors.New("this run has no access to its BMC")
	}
	if cluster := b.hp.Cluster; cluster != "" {
		if b.Clusters.Gather(ctx, cluster).HasHealthyMember(b.hp.Host) {
			return errors.New("its etcd member answers, so only its SSH does not")
		}
		if b.isOnlyMember(cluster) {
			return b.checkPower(ctx, host)
		}
		if err := b.checkQuorum(ctx, b.hp, engine.Quorum{Cluster: cluster, Down: true}); err != nil {
			return err
		}
	}
	return b.checkPower(ctx, host)
}

// isOnlyMember reports whether the host is the whole cluster, and its outage is allowed. No member is left then that could
// tell how the cluster is.
func (b *bootReset) isOnlyMember(cluster string) bool {
	c, _ := b.Inventory.Cluster(cluster)
	return c.AllowOutage && len(b.Inventory.Members(cluster)) == 1
}

func (b *bootReset) checkPower(ctx context.Context, host engine.Host) error {
	now, err := b.Power.Read(ctx, host)
	if err == nil && now.Power != powerOn {
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
		Message: fmt.Sprintf("%s: it has not come back from its reboot within %s, and is reset once, through its BMC", b.hp.Host, engine.Duration(b.after)),
	})
}

func (b *bootReset) sendReset(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, toDuration(engine.SwitchTimeout), fmt.Errorf("not done within %s", engine.SwitchTimeout))
	defer cancel()
	host, _ := b.Inventory.Host(b.hp.Host)
	return b.Power.Switch(ctx, host, engine.SwitchPower{To: engine.PowerReset}, func(string) error { return nil })
}

package simulator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
)

// Call is one call of a run to the world.
type Call struct {
	Verb    string // probe, hold, stage, reboot, release, fail hold, observe, local …
	Host    string
	Cluster string
	N       int // number among the run's calls, from 1
}

// Fault is the failure of a call.
type Fault int

// The faults. The call is lost on its way to the host, or its answer on the way
// back; the command fails and changes nothing; or the bastion dies before or
// after the call.
const (
	NoFault Fault = iota
	LostThere
	LostBack
	Fails
	KillBefore
	KillAfter
)

var (
	errLost  = errors.New("connection lost")
	errFails = errors.New("it was told to fail")
)

func (b *Bastion) deliverCall(ctx context.Context, c Call, do func(now time.Time) error) error {
	b.mu.Lock()
	c.N = len(b.calls) + 1
	b.calls = append(b.calls, c)
	b.mu.Unlock()
	fault := NoFault
	if b.Fault != nil {
		fault = b.Fault(c)
	}
	if fault == KillBefore {
		b.Kill()
	}
	if err := b.sleepLatency(ctx, c); err != nil {
		return err
	}
	if b.hasState(ended) {
		return errKilled
	}
	switch fault {
	case LostThere:
		return errLost
	case Fails:
		return errFails
	default: // the call arrives
	}
	var err error
	b.site.withLock(func(now time.Time) { err = do(now) })
	switch fault {
	case LostBack:
		return errLost
	case KillAfter:
		b.Kill()
	default: // the answer arrives
	}
	if late := b.sleepLatency(ctx, c); late != nil {
		return late
	}
	return err
}

func (b *Bastion) sleepLatency(ctx context.Context, c Call) error {
	if b.Latency == nil {
		return context.Cause(ctx)
	}
	return b.clock.Sleep(ctx, b.Latency(c))
}

// Connect returns a connection to a host.
func (b *Bastion) Connect(_ context.Context, h engine.Host) (rollout.Conn, error) {
	if b.hasState(ended) {
		return nil, errKilled
	}
	var err error
	b.site.withLock(func(time.Time) {
		if host := b.site.hosts[h.Name]; !host.up || host.cut {
			b.lawNotes().Miss(h.Name)
			err = &engine.Failure{Cause: fmt.Sprintf("connect to %s: connection refused", h.Name), Silent: true}
		} else if !b.mayConnect(host) {
			err = errRefused
		}
	})
	return conn{b, b.site.hosts[h.Name]}, err
}

type conn struct {
	b *Bastion
	h *Host
}

// harmless lists the scripts that change nothing on a host, or only end
// something.
var harmless = map[string]bool{"probe": true, "read hold": true, "check hold": true, "abort": true, "release": true, "fail hold": true, "log": true, "state": true, "pace": true, "end hold": true, "accept units": true, "other": true}

// Run runs a script on the host.
func (c conn) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	if s.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.Timeout)
		defer cancel()
	}
	var reply rollout.Reply
	var stages, hangs time.Duration
	what := VerbOf(s)
	refused, err := c.receiveUpload(ctx, what, s.Text)
	if err != nil {
		return reply, err
	}
	err = c.b.deliverCall(ctx, Call{Verb: what, Host: c.h.Name}, func(now time.Time) error {
		switch {
		case !c.h.up || c.h.cut:
			return errLost
		case refused != nil:
			reply = *refused
			return nil
		}
		if !harmless[what] && !isOfPerson(s) {
			c.b.law().CheckPaused(&c.h.law)
		}
		reply = c.h.runScript(c.b, s, now)
		c.h.freed = c.h.freed && what != "hold"
		if c.h.staging != "" && what == "stage" {
			stages = c.h.stagedBy.Sub(now)
		}
		if !c.h.up { // the power was cut during the script
			return errLost
		}
		hangs = c.h.hangTime(reply)
		return nil
	})
	if err == nil && hangs > 0 {
		err = c.b.clock.Sleep(ctx, hangs)
	}
	if errors.Is(err, errFails) {
		return rollout.Reply{Code: 1, Stderr: err.Error() + "\n"}, nil
	}
	if err != nil || stages == 0 {
		return reply, err
	}
	return c.awaitStaging(ctx, s, stages)
}

func (c conn) awaitStaging(ctx context.Context, s rollout.Script, takes time.Duration) (reply rollout.Reply, err error) {
	if s.Live != nil {
		s.Live([]byte("staging\n"))
	}
	if err := c.b.clock.Sleep(ctx, takes); err != nil {
		return reply, err
	}
	_, rest := parseOrder(s.Text)
	order := strings.Fields(rest) // the digest, and the runs whose holds do not count
	c.b.site.withLock(func(time.Time) {
		switch {
		case !c.h.up || c.h.cut:
			err = errLost
		case c.h.staged == order[0]:
		case c.h.heldBut(order[1:]...):
			reply = rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is held by someone else; nothing was done\n"}
		default:
			reply = rollout.Reply{Code: 1, Stderr: "stage: it was interrupted\n"}
		}
	})
	return reply, err
}

package simulator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"holdfast/engine"
)

// power is the controllers of all hosts, as a bastion reaches them.
type power struct{ b *Bastion }

var errSilentBMC = errors.New("the BMC does not answer")

// Read returns the power of a host. Its controller has no other settings.
func (p power) Read(_ context.Context, host engine.Host) (state engine.PowerState, err error) {
	h := p.b.site.Host(host.Name)
	p.b.site.withLock(func(time.Time) {
		if state.Power = "On"; h.off {
			state.Power = "Off"
		}
		if h.traits.SilentBMC {
			err = errSilentBMC
		}
	})
	return state, err
}

// Keep does nothing, because Read returns no settings.
func (power) Keep(context.Context, engine.Host, engine.PowerKeeping) error { return nil }

// Switch switches the power of a host. The laws are about roll-outs, and not about
// people who switch a host that they hold.
func (p power) Switch(ctx context.Context, host engine.Host, s engine.SwitchPower, before func(string) error) error {
	if err := before(fmt.Sprintf("ordering %s", s.To)); err != nil {
		return err
	}
	h := p.b.site.Host(host.Name)
	err := p.b.deliverCall(ctx, Call{Verb: "power", Host: host.Name}, func(time.Time) error {
		if h.traits.SilentBMC {
			return errSilentBMC
		}
		if p.b.isAlive() {
			p.b.law().CheckPower(&h.law, s.To)
		}
		p.b.site.addToLog("%s switches %s to %s", p.b.ID, host.Name, s.To)
		return nil
	})
	if err != nil {
		return err
	}
	switch s.To {
	case engine.PowerOff:
		h.PowerOff()
	case engine.PowerOn:
		h.PowerOn()
	case engine.PowerReset:
		h.resetThroughBMC()
	}
	return nil
}

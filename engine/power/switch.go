package power

import (
	"context"
	"time"

	"holdfast/engine"
)

const poll = time.Second

// Clock is the time of the bastion.
type Clock interface {
	Now() time.Time
	Sleep(context.Context, time.Duration) error
}

// Switcher switches the power of hosts.
type Switcher struct {
	Clock  Clock
	Before func(text string) error // is called before each reset is sent; an error stops the switch
}

// Switch switches the power, and waits until the controller reports it. Once the controller has answered, further questions about
// the state may fail meanwhile. A host is reset as soon as the controller has accepted the reset: a state read afterwards would
// tell nothing about it.
func (w Switcher) Switch(ctx context.Context, c Controller, s engine.SwitchPower) error {
	var p progress
	answered := false
	sentAt := w.Clock.Now() // of the order to shut down, if it was sent before
	for {
		now, err := c.State(ctx)
		p.waited = w.Clock.Now().Sub(sentAt)
		send, done := Reset(""), false
		switch {
		case err == nil:
			answered = true
			send, done, err = chooseReset(s, now, p)
		case answered && p.waited < p.effectLimit(s):
			err = nil
		}
		switch {
		case done || err != nil:
			return err
		case send == "":
			if err := w.Clock.Sleep(ctx, poll); err != nil {
				return err
			}
			continue
		}
		if err := w.Before("sending " + string(send)); err != nil {
			return err
		}
		if err := c.Reset(ctx, send); err != nil {
			return err
		}
		if s.To == engine.PowerReset {
			return nil
		}
		p, sentAt = progress{sent: send}, w.Clock.Now()
	}
}

package power

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

// Controller switches the power of one host. Each call ends within 10 s. Its errors name the controller and the next step.
type Controller interface {
	// State returns the power and the resets that the controller offers now.
	State(context.Context) (State, error)
	// Reset sends a reset that the controller offers. It does not wait for the power to change.
	Reset(context.Context, Reset) error
	// SetRestorePolicy decides about the power after a power cut.
	SetRestorePolicy(context.Context, string) error
	// SetLight switches the locator light.
	SetLight(ctx context.Context, on bool) error
	// SetIndicator sets the light of a controller without a locator light to a word of Redfish.
	SetIndicator(ctx context.Context, word string) error
}

// State is the power of a host at one moment, as its controller reports it.
type State struct {
	Power         string   `json:"power"`                    // On, Off, or another word of the controller
	Resets        []string `json:"resets,omitempty"`         // resets that the controller offers
	RestorePolicy string   `json:"restore_policy,omitempty"` // power after a power cut; missing: not known
	Light         *bool    `json:"light,omitempty"`          // locator light; missing: not known
	Indicator     string   `json:"indicator,omitempty"`      // light of a controller without a locator light: IndicatorLED of Redfish, in its words
}

// The words of Redfish for State.Power that matter.
const (
	On  = "On"
	Off = "Off"
)

// Reset is a ResetType of Redfish.
type Reset string

// The resets that holdfast sends. PushPowerButton is none of them, because its effect depends on the power at that moment, and
// PowerCycle neither, because it switches a host on that somebody has switched off a moment ago.
const (
	TurnOn           Reset = "On"
	ForceOn          Reset = "ForceOn"
	GracefulShutdown Reset = "GracefulShutdown"
	ForceOff         Reset = "ForceOff"
	ForceRestart     Reset = "ForceRestart"
)

// Clock is the time of the bastion.
type Clock interface {
	Now() time.Time
	Sleep(context.Context, time.Duration) error
}

const (
	settle = 18 * time.Second // from a reset until the controller reports its effect
	poll   = time.Second
)

// progress is the last reset that was sent, and the time since then, or since the begin.
type progress struct {
	sent   Reset
	waited time.Duration
}

// chooseReset returns the reset to send now, "" to wait, or that the switch is done. It sends only resets that the controller offers,
// and restarts only a host that is on.
func chooseReset(s engine.SwitchPower, now State, p progress) (send Reset, done bool, err error) {
	late := p.waited >= settle
	switch s.To {
	case engine.PowerOn:
		switch {
		case now.Power == On:
			return "", true, nil
		case p.sent == "":
			send, err = now.offer(TurnOn, ForceOn)
		case late:
			err = fmt.Errorf("the controller accepted %s, and still reports %q after %s; look at the host and at the log of its controller", p.sent, now.Power, settle)
		}
	case engine.PowerOff:
		switch {
		case now.Power == Off:
			return "", true, nil
		case s.WaitOnly && p.waited < time.Duration(s.Graceful):
		case s.WaitOnly:
			err = fmt.Errorf("its power is still %q after %s, and was not cut: the host does not answer, and its hold may be another one by now; look at it, or use --force", now.Power, s.Graceful)
		case p.sent == "" && !s.Ordered:
			send, err = now.offer(GracefulShutdown, ForceOff)
		case (p.sent == "" || p.sent == GracefulShutdown) && p.waited >= time.Duration(s.Graceful):
			if send, err = now.offer(ForceOff); err != nil {
				err = fmt.Errorf("the host did not shut down within %s, and %w", s.Graceful, err)
			}
		case p.sent == ForceOff && late:
			err = fmt.Errorf("the controller accepted %s, and still reports %q after %s; look at the host and at the log of its controller", p.sent, now.Power, settle)
		}
	case engine.PowerReset:
		if now.Power != On {
			err = fmt.Errorf("the power is %q, and only a host that is on is reset; use holdfast power on", now.Power)
		} else if send, err = now.offer(ForceRestart); err != nil {
			err = fmt.Errorf("%w, or use holdfast power off and holdfast power on", err)
		}
	default:
		err = fmt.Errorf("the power cannot be switched to %q", s.To)
	}
	return send, false, err
}

// offer returns the first of the resets that the controller offers.
func (s State) offer(list ...Reset) (Reset, error) {
	for _, r := range list {
		if slices.Contains(s.Resets, string(r)) {
			return r, nil
		}
	}
	offered := "nothing"
	if len(s.Resets) > 0 {
		offered = strings.Join(s.Resets[:min(10, len(s.Resets))], ", ")
	}
	return "", fmt.Errorf("the controller does not offer %s, only %s; switch the power by hand", joinResets(list), offered)
}

func joinResets(list []Reset) string {
	var names []string
	for _, r := range list {
		names = append(names, string(r))
	}
	return strings.Join(names, " or ")
}

// Switcher switches the power of hosts.
type Switcher struct {
	Clock  Clock
	Before func(text string) error // is called before each reset is sent; an error stops the switch
}

// effectLimit returns how long the controller has for the effect of the last reset.
func (p progress) effectLimit(s engine.SwitchPower) time.Duration {
	if s.To == engine.PowerOff && p.sent != ForceOff {
		return time.Duration(s.Graceful) + settle
	}
	return settle
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

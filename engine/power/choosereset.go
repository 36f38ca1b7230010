package power

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
)

const settle = 18 * time.Second // from a reset until the controller reports its effect

// progress is the last reset that was sent, and the time since then, or since the begin.
type progress struct {
	sent   Reset
	waited time.Duration
}

// chooseReset returns the reset to send now, "" to wait, or that the switch is done. It sends only resets that the controller
// offers, and restarts only a host that is on.
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

// effectLimit returns how long the controller has for the effect of the last reset.
func (p progress) effectLimit(s engine.SwitchPower) time.Duration {
	if s.To == engine.PowerOff && p.sent != ForceOff {
		return time.Duration(s.Graceful) + settle
	}
	return settle
}

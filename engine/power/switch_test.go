package power

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"holdfast/engine"
)

// restarting is a controller that answers nothing once it has restarted its host.
type restarting struct {
	Controller
	resets []Reset
}

func (c *restarting) State(context.Context) (State, error) {
	if len(c.resets) > 0 {
		return State{}, errors.New("it did not answer")
	}
	return State{Power: On, Resets: []string{string(ForceRestart)}}, nil
}

func (c *restarting) Reset(_ context.Context, r Reset) error {
	c.resets = append(c.resets, r)
	return nil
}

// stoppedClock is a Clock at one moment.
type stoppedClock struct{}

func (stoppedClock) Now() time.Time { return time.Unix(0, 0) }

func (stoppedClock) Sleep(context.Context, time.Duration) error { return nil }

// TestResetNeedsNoState: a reset that the controller has accepted is done, although the controller does not answer any more.
func TestResetNeedsNoState(t *testing.T) {
	c := &restarting{}
	err := Switcher{Clock: stoppedClock{}, Before: func(string) error { return nil }}.Switch(t.Context(), c, engine.SwitchPower{To: engine.PowerReset})
	if err != nil || !slices.Equal(c.resets, []Reset{ForceRestart}) {
		t.Errorf("%v after %v", err, c.resets)
	}
}

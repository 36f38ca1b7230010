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

// moodyController is a controller that fails to answer one question about its state.
type moodyController struct {
	Controller
	power  string
	fails  func(question int) bool
	asked  int
	resets []Reset
}

func (c *moodyController) State(context.Context) (State, error) {
	c.asked++
	if c.fails(c.asked) {
		return State{}, errSilent
	}
	if len(c.resets) > 0 && c.asked >= 10 {
		c.power = Off
	}
	return State{Power: c.power, Resets: []string{string(GracefulShutdown), string(ForceOff)}}, nil
}

func (c *moodyController) Reset(_ context.Context, r Reset) error {
	c.resets = append(c.resets, r)
	return nil
}

var errSilent = errors.New("it did not answer")

// steppedClock is a Clock that moves only while somebody sleeps.
type steppedClock struct{ now time.Time }

func (c *steppedClock) Now() time.Time { return c.now }

func (c *steppedClock) Sleep(_ context.Context, d time.Duration) error {
	c.now = c.now.Add(d)
	return nil
}

// TestSwitchSurvivesSilence: a switch goes on if its controller does not answer for a while after its first answer, but not forever,
// and no reset is sent again.
func TestSwitchSurvivesSilence(t *testing.T) {
	for name, c := range map[string]struct {
		fails  func(int) bool
		err    error
		resets []Reset
	}{
		"second question": {fails: func(n int) bool { return n == 2 }, resets: []Reset{GracefulShutdown}},
		"most questions":  {fails: func(n int) bool { return n > 1 && n < 12 }, resets: []Reset{GracefulShutdown}},
		"first question":  {fails: func(n int) bool { return n == 1 }, err: errSilent},
		"for good":        {fails: func(n int) bool { return n > 1 }, err: errSilent, resets: []Reset{GracefulShutdown}},
	} {
		t.Run(name, func(t *testing.T) {
			at, began := &steppedClock{}, time.Time{}
			moody := &moodyController{power: On, fails: c.fails}
			err := Switcher{Clock: at, Before: func(string) error { return nil }}.Switch(t.Context(), moody, engine.SwitchPower{To: engine.PowerOff, Graceful: engine.Duration(time.Minute)})
			if !errors.Is(err, c.err) || !slices.Equal(moody.resets, c.resets) {
				t.Errorf("%v after %v", err, moody.resets)
			}
			if took := at.now.Sub(began); took > time.Minute+settle {
				t.Errorf("it took %s", took)
			}
		})
	}
}

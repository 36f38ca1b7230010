package rollout

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// wallClock is the clock of a bubble.
type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lossyHosts end scripts with the given results, one after the other, and
// repeat the last result.
type lossyHosts struct {
	Hosts

	attempts []attempt
	count    int
	steps    []int64 // of the scripts
}

type silentSink struct{}

func (silentSink) Emit(event.Event) error { return nil }

type attempt struct {
	moved bool
	took  time.Duration
	err   error
}

func (h *lossyHosts) Connect(context.Context, engine.Host) (Conn, error) { return h, nil }

func (h *lossyHosts) Run(_ context.Context, s Script) (Reply, error) {
	a := h.attempts[min(h.count, len(h.attempts)-1)]
	h.count++
	h.steps = append(h.steps, s.Step)
	time.Sleep(a.took)
	if a.moved {
		s.Transfer(event.Progress{Bytes: 1})
	}
	return Reply{}, a.err
}

// TestTransfersContinueOnNewConnections checks that a transfer continues as
// long as a new connection succeeds within two minutes.
func TestTransfersContinueOnNewConnections(t *testing.T) {
	lost, good := errors.New("lost"), attempt{moved: true}
	for name, c := range map[string]struct {
		attempts []attempt
		count    int
		fails    bool
	}{
		"good":                     {[]attempt{good}, 1, false},
		"lost three times":         {[]attempt{{true, time.Minute, lost}, {true, 3 * time.Minute, lost}, {true, time.Hour, lost}, good}, 4, false},
		"away for a minute":        {[]attempt{{true, time.Minute, lost}, {false, 50 * time.Second, lost}, good}, 3, false},
		"away for good":            {[]attempt{{true, time.Minute, lost}, {false, 50 * time.Second, lost}}, 4, true},
		"without content to serve": {[]attempt{{false, 0, NoContent{lost}}}, 1, true},
		"with too much output":     {[]attempt{{true, 0, TooMuchOutput{lost}}}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hosts := &lossyHosts{attempts: c.attempts}
				r := &Run{Ports: Ports{Hosts: hosts, Clock: wallClock{}}}
				r.Inventory.Hosts = []engine.Host{{Name: "h"}}
				_, err := newHostAccess(r).runTransfer(t.Context(), "h", Script{Transfer: func(event.Progress) {}})
				if hosts.count != c.count || (err != nil) != c.fails {
					t.Errorf("%d attempts, %v; want %d, failure %v", hosts.count, err, c.count, c.fails)
				}
			})
		})
	}
}

// TestAttemptsOfAStepShareItsNumber checks that a repeated script belongs to the step of the first attempt, so that its
// bytes are counted together, and that another step of the same host has another number.
func TestAttemptsOfAStepShareItsNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := &lossyHosts{attempts: []attempt{{true, time.Minute, errors.New("lost")}, {moved: true}}}
		r := &Run{Ports: Ports{Hosts: hosts, Clock: wallClock{}, Sink: silentSink{}}}
		r.Inventory.Hosts = []engine.Host{{Name: "h"}}
		step := engine.Step{Name: "stage", Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript("pull"), Content: &engine.Content{Commit: "c"}}}}
		steps := newPlayLoop(r).steps
		for range 2 {
			if err := steps.runExec(t.Context(), engine.HostPlan{Host: "h"}, step, &stepHeartbeat{events: steps.emitter}); err != nil {
				t.Fatal(err)
			}
		}
		if s := hosts.steps; len(s) != 3 || s[0] != s[1] || s[1] == s[2] {
			t.Errorf("steps %v, want two attempts of one, and one of another", s)
		}
	})
}

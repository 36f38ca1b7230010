package hold_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

const theirHold = `{"schema":1,"kind":"run","holder":"bob@bastion-2","run":"r2","bastion":"b2","reason":"an OS update"}` + "\n"

var owner = engine.HoldOwner{Run: "r1", Bastion: "b1"}

// keepWith returns a keeper whose scripts all end with the same reply or error.
func keepWith(reply engine.Output, err error) hold.Keeper {
	return hold.Keeper{Owner: owner, Secrets: textutil.NewSecrets([]string{"s3cret"}), Run: func(context.Context, string, hold.Script) (engine.Output, error) {
		return reply, err
	}}
}

// calls are all calls of a keeper that change or check a hold.
var calls = map[string]func(hold.Keeper, context.Context) error{
	"take": func(k hold.Keeper, ctx context.Context) error {
		return k.Take(ctx, "a", engine.Hold{Run: "r1"}, engine.TakeHold{})
	},
	"write again": func(k hold.Keeper, ctx context.Context) error {
		return k.Take(ctx, "a", engine.Hold{Run: "r1"}, engine.TakeHold{For: engine.KeepEnd})
	},
	"check": func(k hold.Keeper, ctx context.Context) error { return k.Check(ctx, "a") },
	"fail": func(k hold.Keeper, ctx context.Context) error {
		return k.Fail(ctx, "a", engine.Failure{Cause: "a reason", Step: "reboot"})
	},
	"release": func(k hold.Keeper, ctx context.Context) error { return k.Release(ctx, "a", engine.Release{}) },
	"end":     func(k hold.Keeper, ctx context.Context) error { return k.End(ctx, "a", theirHold, false) },
	"accept":  func(k hold.Keeper, ctx context.Context) error { return k.Accept(ctx, "a") },
}

// TestSilentHosts: the facts tell a host that does not answer at all from one that cannot be used.
func TestSilentHosts(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{true, false} {
		r, err := keepWith(engine.Output{}, &engine.Failure{Cause: "no login", Silent: silent}).Read(t.Context(), "a")
		if err == nil || r.Facts.Unreachable != "no login" || r.Facts.Silent != silent {
			t.Errorf("%+v, %v", r.Facts, err)
		}
	}
}

// TestErrorsOfKeepers: every call tells a lost connection, the hold of somebody else and a failed script apart, names the
// holder, and shows no secret.
func TestErrorsOfKeepers(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection lost")
	for name, call := range calls {
		if err := call(keepWith(engine.Output{}, nil), t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := call(keepWith(engine.Output{}, lost), t.Context()); !errors.Is(err, lost) {
			t.Errorf("%s without a connection: %v", name, err)
		}
		var f *engine.Failure
		err := call(keepWith(engine.Output{Code: hostscript.ScriptHeld, Stdout: theirHold, Stderr: "hold: held\n"}, nil), t.Context())
		if !errors.As(err, &f) || f.Kind != engine.HeldFailure || !strings.Contains(f.Cause, `held by bob@bastion-2 since`) {
			t.Errorf("%s of a foreign hold: %v", name, err)
		}
		err = call(keepWith(engine.Output{Code: 1, Stderr: "sh: s3cret: read-only file system\n"}, nil), t.Context())
		if !errors.As(err, &f) || f.Kind != "" || !strings.Contains(f.Cause, "exit status 1") || !strings.Contains(f.Stderr, "read-only") || strings.Contains(f.Stderr, "s3cret") {
			t.Errorf("%s on a broken host: %+v", name, f)
		}
		if text := hold.DescribeError(err); !strings.HasSuffix(text, "exit status 1: sh: (sensitive): read-only file system") {
			t.Errorf("%s on a broken host: %s", name, text)
		}
	}
	for _, name := range []string{"check", "write again"} {
		err := calls[name](keepWith(engine.Output{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run\n"}, nil), t.Context())
		if err == nil || err.Error() != "the hold of this run is gone" {
			t.Errorf("%s without a hold: %v", name, err)
		}
	}
}

// TestBusyLockIsNoLostHold: while another script has the lock, nobody knows of another hold. Only a run that takes a hold
// leaves the host to others.
func TestBusyLockIsNoLostHold(t *testing.T) {
	t.Parallel()
	calls := maps.Clone(calls)
	calls["extend"] = func(k hold.Keeper, ctx context.Context) error {
		return k.Take(ctx, "a", engine.Hold{Run: "r1"}, engine.TakeHold{Digest: theirHold})
	}
	for name, call := range calls {
		tries := 0
		k := keepWith(engine.Output{}, nil)
		k.Run = func(context.Context, string, hold.Script) (engine.Output, error) {
			tries++
			return engine.Output{Code: hostscript.ScriptBusy, Stderr: "hold: for 30 s the host has been busy with run r1, a command of a playbook; nothing was done, try again when that is over\n"}, nil
		}
		var f *engine.Failure
		err := call(k, t.Context())
		if !errors.As(err, &f) || (f.Kind == engine.HeldFailure) != (name == "take") || !strings.Contains(f.Cause, "busy with run r1, a command of a playbook") {
			t.Errorf("%s: %+v", name, f)
		}
		if strings.Contains(f.Cause, "gone") || strings.Contains(f.Cause, "not ours") || strings.Contains(f.Cause, "has ended") {
			t.Errorf("%s: %s", name, f.Cause)
		}
		if want := map[bool]int{true: 12, false: 1}[name == "fail" || name == "release"]; tries != want {
			t.Errorf("%s: tried %d times, not %d", name, tries, want)
		}
	}
}

// TestBusyLockOutlastsTheStep: if the time of the caller ends during another try, the error still names who has the lock.
func TestBusyLockOutlastsTheStep(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"fail", "release"} {
		ctx, cancel := context.WithCancel(t.Context())
		k, tries := keepWith(engine.Output{}, nil), 0
		k.Run = func(context.Context, string, hold.Script) (engine.Output, error) {
			if tries++; tries == 2 {
				cancel()
				return engine.Output{}, ctx.Err()
			}
			return engine.Output{Code: hostscript.ScriptBusy, Stderr: "hold: for 30 s the host has been busy with run r1; nothing was done, try again when that is over\n"}, nil
		}
		if err := calls[name](k, ctx); err == nil || !strings.Contains(err.Error(), "busy with run r1") || tries != 2 {
			t.Errorf("%s, after %d tries: %v", name, tries, err)
		}
	}
}

// TestReadAll reads the holds of hosts that are free, held, unreadable and unreachable, in their order.
func TestReadAll(t *testing.T) {
	t.Parallel()
	k := hold.Keeper{Run: func(_ context.Context, host string, s hold.Script) (engine.Output, error) {
		switch {
		case s.Purpose != hold.ReadScript || s.Text != hostscript.ClockProbeScript():
			return engine.Output{}, fmt.Errorf("another script: %s", s.Purpose)
		case host == "held":
			return engine.Output{Stdout: theirHold}, nil
		case host == "odd":
			return engine.Output{Stdout: "odd"}, nil
		case host == "down":
			return engine.Output{}, errors.New("it is down")
		}
		return engine.Output{Code: hostscript.NoHold}, nil
	}}
	var got []string
	for _, r := range k.ReadAll(t.Context(), []string{"held", "free", "odd", "down"}) {
		word := "free"
		switch f := r.Facts; {
		case !f.Reached():
			word = f.Unreachable
		case f.HoldProblem != "":
			word = "unreadable: " + r.Text
		case f.Held():
			word = "by " + f.Hold.Holder
		}
		got = append(got, r.Facts.Host+" "+word)
	}
	if want := []string{"held by bob@bastion-2", "free free", "odd unreadable: odd", "down it is down"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestKeeperKeepsForks checks that a keeper works on no more hosts at once than Forks.
func TestKeeperKeepsForks(t *testing.T) {
	for forks, want := range map[int]int32{0: 64, 3: 3} {
		synctest.Test(t, func(t *testing.T) {
			var begun atomic.Int32
			may, all := make(chan struct{}), make(chan struct{})
			k := hold.Keeper{Forks: forks, Run: func(context.Context, string, hold.Script) (engine.Output, error) {
				begun.Add(1)
				<-may
				return engine.Output{Code: hostscript.NoHold}, nil
			}}
			var hosts []string
			for i := range 100 {
				hosts = append(hosts, fmt.Sprint("host-", i))
			}
			go func() {
				defer close(all)
				k.ReadAll(t.Context(), hosts)
			}()
			synctest.Wait()
			if n := begun.Load(); n != want {
				t.Errorf("%d hosts at once, and not %d", n, want)
			}
			close(may)
			<-all
			if n := begun.Load(); n != 100 {
				t.Errorf("%d hosts, and not 100", n)
			}
		})
	}
}

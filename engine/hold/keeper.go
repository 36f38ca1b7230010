package hold

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/textutil"
)

// Script is a POSIX sh script about the hold of a host. It runs as root, and does no harm when it runs twice.
type Script struct {
	Purpose Purpose
	Text    string
	Timeout time.Duration
}

// Purpose is the reason for a script. Simulated hosts act on it.
type Purpose string

// The purposes of scripts.
const (
	ReadScript    Purpose = "read hold"
	TakeScript    Purpose = "hold"         // takes, renews, extends or adopts a hold
	CheckScript   Purpose = "check hold"   // checks that the run holds the host
	FailScript    Purpose = "fail hold"    // writes a failure into the hold of the run
	ReleaseScript Purpose = "release"      // ends the hold of the run
	EndScript     Purpose = "end hold"     // ends a hold that somebody has read
	AcceptScript  Purpose = "accept units" // accepts the units of a host without a hold
)

// Keeper takes, extends, reads, checks and ends holds on hosts. It returns an error of a connection as Run returns it.
// All other errors are *engine.Failure: of kind HeldFailure if somebody else holds the host, and without a kind if the
// script failed.
type Keeper struct {
	// Run runs a script on a host, and repeats it if its answer is lost. An error means that the connection failed.
	Run func(ctx context.Context, host string, s Script) (engine.Output, error)

	Now func() time.Time // the clock of the bastion; nil: time.Now

	Owner   engine.HoldOwner // the run that releases, checks and fails its holds
	Secrets textutil.Secrets // hidden in failures
	Forks   int              // number of hosts at the same time; 0: 64

	ReadTimeout time.Duration // of a script that only reads a hold; 0: one minute
}

const (
	defaultForks       = 64
	defaultReadTimeout = time.Minute
	writeTimeout       = time.Minute
	helpersTimeout     = 2 * time.Minute // of scripts that stop or start reboot helpers, or end a staging
)

// Each calls do for each of the hosts, for at most Forks hosts at the same time, and waits for all.
func (k Keeper) Each(hosts []string, do func(host string)) {
	workers := pool.New().WithMaxGoroutines(cmp.Or(k.Forks, defaultForks))
	for _, h := range hosts {
		workers.Go(func() { do(h) })
	}
	workers.Wait()
}

// Reading is the hold of a host at one moment.
type Reading struct {
	Facts engine.Facts // only the host, its hold and clock, and the reasons why it is unreachable or its hold cannot be read
	Text  string       // content of the hold file
}

// Read reads the hold of a host. An error means that the host cannot be reached.
func (k Keeper) Read(ctx context.Context, host string) (Reading, error) {
	r := Reading{Facts: engine.Facts{Host: host}}
	reply, err := k.Run(ctx, host, Script{ReadScript, hostscript.ClockProbeScript(), k.readTimeout()})
	if err != nil {
		var f *engine.Failure
		r.Facts.Unreachable, r.Facts.Silent = err.Error(), errors.As(err, &f) && f.Silent
		return r, err
	}
	reply, r.Facts.Clock = hostscript.CutClock(reply)
	if r.Text = reply.Stdout; !r.Facts.Clock.IsZero() {
		r.Facts.GatheredAt = k.now()
	}
	r.Facts.Hold, r.Facts.HoldProblem = hostscript.ReadHold(reply)
	return r, nil
}

// ReadAll reads the holds of hosts, and returns them in the order of the hosts.
func (k Keeper) ReadAll(ctx context.Context, hosts []string) []Reading {
	list, position := make([]Reading, len(hosts)), make(map[string]int, len(hosts))
	for i, h := range hosts {
		position[h] = i
	}
	k.Each(hosts, func(host string) {
		list[position[host]], _ = k.Read(ctx, host) // the facts have the error
	})
	return list
}

// Take takes the hold h of a host, renews or extends it if the host has a hold of h.Run, or adopts the hold that t names. With t.Digest, it
// writes only the hold again that has this text.
func (k Keeper) Take(ctx context.Context, host string, h engine.Hold, t engine.TakeHold) error {
	reply, err := k.Run(ctx, host, Script{TakeScript, hostscript.TakeHoldScript(h, t, k.now()), helpersTimeout})
	if t.Digest != "" {
		if err == nil && reply.Code == hostscript.ScriptHeld && reply.Stdout == "" {
			return &engine.Failure{Kind: engine.HeldFailure, Cause: "its hold has ended since it was read"}
		}
		return k.judgeReply(reply, err, "write the hold again", "its hold has changed since it was read: ")
	}
	if t.For == engine.KeepEnd {
		return k.judgeOwn(reply, err, "write the hold again", notOurs)
	}
	if err == nil && reply.Code == hostscript.ScriptBusy { // somebody else works on the host
		return &engine.Failure{Kind: engine.HeldFailure, Cause: textutil.Printable(hostscript.DescribeHolder(reply))}
	}
	return k.judgeReply(reply, err, "take the hold", "")
}

// Check returns nil if the run of Owner holds the host.
func (k Keeper) Check(ctx context.Context, host string) error {
	reply, err := k.Run(ctx, host, Script{CheckScript, hostscript.CheckHoldScript(k.Owner), k.readTimeout()})
	return k.judgeOwn(reply, err, "check the hold", notOurs)
}

// judgeOwn is judgeReply for a script that needs the hold of the run. Without any hold on the host, such a script prints none.
func (k Keeper) judgeOwn(reply engine.Output, err error, task, heldPrefix string) error {
	if err == nil && reply.Code == hostscript.ScriptHeld && reply.Stdout == "" {
		return &engine.Failure{Kind: engine.HeldFailure, Cause: "the hold of this run is gone"}
	}
	return k.judgeReply(reply, err, task, heldPrefix)
}

// notOurs begins the cause of a failure because the run has lost its hold to somebody else.
const notOurs = "the hold is not ours any more: "

// busyTries is how often a script that ends the work of a run on a host is tried while another script has the lock of the
// hold, each time for the 30 s that a script waits for it. The other script may be a command of a playbook that runs on after
// its connection was lost, by default for up to 5 minutes.
const busyTries = 12

// LockTime is how long Fail and Release wait for the lock of the hold, if their context allows that.
const LockTime = busyTries * 30 * time.Second

// runWhenFree runs a script, and tries it again while another script has the lock. If the context ends meanwhile, it returns
// the last reply of the host, which names the other script.
func (k Keeper) runWhenFree(ctx context.Context, host string, s Script) (engine.Output, error) {
	reply, err := k.Run(ctx, host, s)
	for n := 1; n < busyTries && err == nil && reply.Code == hostscript.ScriptBusy && ctx.Err() == nil; n++ {
		next, nextErr := k.Run(ctx, host, s)
		if nextErr != nil && ctx.Err() != nil {
			break
		}
		reply, err = next, nextErr
	}
	return reply, err
}

// Fail writes the cause of a failure, its step and its NotBooted into the hold of the run of Owner, which then has no end.
func (k Keeper) Fail(ctx context.Context, host string, f engine.Failure) error {
	reply, err := k.runWhenFree(ctx, host, Script{FailScript, hostscript.FailHoldScript(k.Owner, f.Cause, f.Step, f.NotBooted), writeTimeout})
	return k.judgeReply(reply, err, "write the reason into the hold", "")
}

// Release ends the hold of the run of Owner. A host without a hold is not an error.
func (k Keeper) Release(ctx context.Context, host string, r engine.Release) error {
	reply, err := k.runWhenFree(ctx, host, Script{ReleaseScript, hostscript.ReleaseScriptAt(k.Owner, r, k.now()), helpersTimeout})
	return k.judgeReply(reply, err, "release the hold", notOurs)
}

// End ends a hold of anybody whose text has a digest, if the host still has exactly this hold. If the hold is of a run, the host
// keeps the state of its units before the disruption, unless accept is set.
func (k Keeper) End(ctx context.Context, host, digest string, accept bool) error {
	return k.write(ctx, host, Script{EndScript, hostscript.EndHoldScript(digest, accept), helpersTimeout}, "end the hold")
}

// Accept accepts the units of a host without a hold as they are now.
func (k Keeper) Accept(ctx context.Context, host string) error {
	return k.write(ctx, host, Script{AcceptScript, hostscript.AcceptScript(), writeTimeout}, "accept the units")
}

func (k Keeper) write(ctx context.Context, host string, s Script, task string) error {
	reply, err := k.Run(ctx, host, s)
	return k.judgeReply(reply, err, task, "")
}

// judgeReply returns the error of a script. heldPrefix begins the cause if somebody else holds the host.
func (k Keeper) judgeReply(reply engine.Output, err error, task, heldPrefix string) error {
	switch {
	case err != nil:
		return err
	case reply.Code == hostscript.ScriptHeld:
		return &engine.Failure{Kind: engine.HeldFailure, Cause: heldPrefix + textutil.Printable(hostscript.DescribeHolder(reply))}
	case reply.Code == hostscript.ScriptBusy: // the script wrote nothing
		return &engine.Failure{Cause: task + ": " + textutil.Printable(hostscript.DescribeHolder(reply))}
	case reply.Code != 0:
		return &engine.Failure{Cause: fmt.Sprintf("%s: exit status %d", task, reply.Code), Stderr: k.Secrets.KeepTail(reply.Stderr, 4096)}
	}
	return nil
}

// DescribeError returns an error of a Keeper in one line, with the end of the output of a failed script.
func DescribeError(err error) string {
	var f *engine.Failure
	if !errors.As(err, &f) || strings.TrimSpace(f.Stderr) == "" {
		return err.Error()
	}
	return f.Error() + ": " + textutil.Printable(textutil.Secrets{}.KeepTail(strings.TrimSpace(f.Stderr), 1000))
}

func (k Keeper) now() time.Time {
	if k.Now == nil {
		return time.Now()
	}
	return k.Now()
}

func (k Keeper) readTimeout() time.Duration { return cmp.Or(k.ReadTimeout, defaultReadTimeout) }

package rollout_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/hosttest"
)

// TestTwoRuns lets two bastions, which know nothing of each other, update the
// members of one cluster at the same time, with calls that take their time.
// Never are two members away at once; a run finishes, or says who is in its
// way; and a third finds nothing of them.
func TestTwoRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		members := rapid.SampledFrom([]int{3, 5}).Draw(rt, "members")
		delays := [][]int{
			rapid.SliceOfN(rapid.IntRange(0, 3), 8, 8).Draw(rt, "delays of ann"),
			rapid.SliceOfN(rapid.IntRange(0, 3), 8, 8).Draw(rt, "delays of bob"),
		}
		later := time.Duration(rapid.IntRange(0, 200).Draw(rt, "later")) * time.Second
		if err := inBubble(t, func() error { return together(members, delays, later) }); err != nil {
			rt.Fatal(err)
		}
	})
}

func together(members int, delays [][]int, later time.Duration) error {
	site := newSite(hosttest.Fleet(members, 0))
	ann, bob := site.Bastion("run-ann"), site.Bastion("run-bob")
	for i, b := range []*hosttest.Bastion{ann, bob} {
		b.Latency = func(c hosttest.Call) time.Duration {
			return time.Duration(delays[i][c.N%len(delays[i])]) * time.Second
		}
	}
	ends := make([]engine.RunEnd, 2)
	var wg conc.WaitGroup
	wg.Go(func() { ends[0] = apply(ann) })
	wg.Go(func() {
		time.Sleep(later)
		ends[1] = apply(bob)
	})
	wg.Wait()
	errs := []error{lawful(site)}
	for i, end := range ends {
		away := end.Exit == engine.ExitFailed && (strings.Contains(end.Reason, "etcd cluster main: member") || strings.Contains(end.Reason, "connect to etcd-"))
		if end.Exit != engine.ExitOK && end.Exit != engine.ExitRefused && !away {
			errs = append(errs, fmt.Errorf("run %d: exit %d: %s", i, end.Exit, end.Reason))
		}
	}
	errs = append(errs, ended(apply(site.Bastion("run-3")), engine.ExitOK), converged(site))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nann\n%s\nbob\n%s", err, story(ann), story(bob))
	}
	return nil
}

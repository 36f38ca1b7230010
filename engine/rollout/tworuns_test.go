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
	"holdfast/engine/rollout"
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
		word := rapid.SampledFrom([]string{"", "reload-2", "restart-2", "drain-reload-2", "reboot-2"}).Draw(rt, "setting")
		fails := rapid.Bool().Draw(rt, "actions fail")
		if err := inBubble(t, func() error { return together(twoRunsPlay(members, word, fails), delays, later) }); err != nil {
			rt.Fatal(err)
		}
	})
}

// twoRunsPlay installs a new OS, or changes a setting to that word.
func twoRunsPlay(members int, word string, fails bool) play {
	if word == "" {
		return osPlay(members, 0)
	}
	roles := map[string]role{}
	for i := range members {
		roles[fmt.Sprintf("etcd-%d", i)] = role{had: "none-1", want: word, fails: fails}
	}
	return settingPlay(noOS(hosttest.Fleet(members, 0)), roles)
}

func together(p play, delays [][]int, later time.Duration) error {
	site := p.site()
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
		away := end.Exit == engine.ExitFailed && (strings.Contains(end.Reason, "etcd cluster main: member") || strings.Contains(end.Reason, "connect to etcd-")) ||
			end.Exit == engine.ExitUnreachable && strings.Contains(end.Reason, "is unreachable") // the other one reboots it
		overtaken := end.Exit == engine.ExitFailed && p.brief
		if end.Exit != engine.ExitOK && end.Exit != engine.ExitRefused && !away && !overtaken {
			errs = append(errs, fmt.Errorf("run %d: exit %d: %s", i, end.Exit, end.Reason))
		}
	}
	third := site.Bastion("run-3")
	errs = append(errs, ended(apply(third, func(r *rollout.Run) { r.Dead = []string{"run-ann", "run-bob"} }), engine.ExitOK), lawful(site))
	for _, h := range site.Hosts() {
		errs = append(errs, matching(h))
	}
	if !p.brief {
		errs = append(errs, converged(site))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nann\n%s\nbob\n%s", err, story(ann), story(bob))
	}
	return nil
}

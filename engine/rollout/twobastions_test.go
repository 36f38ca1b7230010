package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// TestTwoRuns lets two bastions, which do not know each other, update the hosts
// of one site at the same time, with calls that take time. The site has members
// of one cluster, or pools of workers with budgets. At no moment are two
// members away, or more workers than the budgets allow. Each run finishes, or
// its reason names the obstacle, and a third run finds nothing left over.
func TestTwoRuns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		delays := [][]int{
			rapid.SliceOfN(rapid.IntRange(0, 3), 8, 8).Draw(rt, "delays of ann"),
			rapid.SliceOfN(rapid.IntRange(0, 3), 8, 8).Draw(rt, "delays of bob"),
		}
		later := time.Duration(rapid.IntRange(0, 200).Draw(rt, "later")) * time.Second
		word := rapid.SampledFrom([]string{"", "reload-2", "restart-2", "drain-reload-2", "reboot-2"}).Draw(rt, "setting")
		fails := rapid.Bool().Draw(rt, "actions fail")
		changes := []func(*rollout.Run){fromTheEnd(false), fromTheEnd(rapid.Bool().Draw(rt, "bob from the end"))}
		inv := simulator.Fleet(rapid.SampledFrom([]int{3, 5}).Draw(rt, "members"), 0)
		if rapid.Bool().Draw(rt, "workers") {
			inv = twoCrews(rapid.IntRange(1, 4).Draw(rt, "max_unavailable"), rapid.IntRange(0, 4).Draw(rt, "max_unavailable of the site"))
		}
		if err := runInBubble(t, func() error { return runTogether(twoRunsPlay(inv, word, fails), delays, later, changes...) }); err != nil {
			rt.Fatal(err)
		}
	})
}

// twoCrews returns two independent pools of workers with the same budget, and a
// budget of the site (0: none).
func twoCrews(most, site int) engine.Inventory {
	inv := engine.Inventory{Site: "test", MaxUnavailable: engine.CountOrPercent{Count: site, Set: site > 0}}
	for _, pool := range []string{"red", "blue"} {
		inv.Pools = append(inv.Pools, engine.Pool{
			Name: pool, OS: &engine.OS{Driver: "simulator", Commit: simulator.V2},
			MaxUnavailable: engine.CountOrPercent{Count: most, Set: true}, Drain: &engine.Drain{Command: "drain", Undo: "undrain"},
		})
		for i := range 5 {
			inv.Hosts = append(inv.Hosts, engine.Host{Name: fmt.Sprintf("%s-%d", pool, i), Pool: pool})
		}
	}
	return inv
}

// fromTheEnd returns an option that reverses the order of the hosts in each
// pool.
func fromTheEnd(reverse bool) func(*rollout.Run) {
	return func(r *rollout.Run) {
		r.Inventory.Pools = slices.Clone(r.Inventory.Pools)
		for i := range r.Inventory.Pools {
			if reverse {
				r.Inventory.Pools[i].Order = engine.ReverseInventory
			}
		}
	}
}

// twoRunsPlay returns a fixture that installs a new OS, or sets the given
// setting.
func twoRunsPlay(inv engine.Inventory, word string, fails bool) playFixture {
	if word == "" {
		return playFixture{site: func() *simulator.Site { return newSite(inv) }}
	}
	roles := map[string]role{}
	for _, h := range inv.Hosts {
		roles[h.Name] = role{had: "none-1", want: word, fails: fails}
	}
	return settingPlay(noOS(inv), roles)
}

// runTogether applies a run on each bastion, the second one later.
func runTogether(p playFixture, delays [][]int, later time.Duration, changes ...func(*rollout.Run)) error {
	site := p.site()
	ann, bob := site.Bastion("run-ann"), site.Bastion("run-bob")
	for i, b := range []*simulator.Bastion{ann, bob} {
		b.Latency = func(c simulator.Call) time.Duration {
			return time.Duration(delays[i][c.N%len(delays[i])]) * time.Second
		}
	}
	ends := make([]event.RunEnd, 2)
	var wg conc.WaitGroup
	wg.Go(func() { ends[0] = applyRun(ann, changes[0]) })
	wg.Go(func() {
		time.Sleep(later)
		ends[1] = applyRun(bob, changes[1])
	})
	wg.Wait()
	errs := []error{checkLaws(site)}
	for i, end := range ends {
		reasons := []string{findingsText(end)} // the reason names only the first of several obstacles
		for _, x := range end.Verdict.Excluded {
			reasons = append(reasons, x.Reason)
		}
		inTheWay := func(words string) bool {
			return slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(reason, words) })
		}
		away := end.Exit == engine.ExitFailed && slices.ContainsFunc([]string{"etcd cluster main: member", "connect to ", "max_unavailable"}, inTheWay) ||
			end.Exit == engine.ExitUnreachable && inTheWay("unreachable") // the other run reboots that host
		overtaken := end.Exit == engine.ExitFailed && p.brief
		if end.Exit != engine.ExitOK && end.Exit != engine.ExitRefused && !away && !overtaken {
			errs = append(errs, fmt.Errorf("run %d: exit %d: %s", i, end.Exit, findingsText(end)))
		}
	}
	third := site.Bastion("run-3")
	errs = append(errs, checkEnd(applyRun(third, func(r *rollout.Run) { r.Dead = []string{"run-ann", "run-bob"} }), engine.ExitOK), checkLaws(site))
	for _, h := range site.Hosts() {
		errs = append(errs, checkMatching(h))
	}
	if !p.brief {
		errs = append(errs, checkConverged(site))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nann\n%s\nbob\n%s", err, runTranscript(ann), runTranscript(bob))
	}
	return nil
}

// carelessHosts show a host without its hold to a run that holds another host
// already.
func carelessHosts(h rollout.Hosts) rollout.Hosts {
	return alteredHosts{h, func(ctx context.Context, c rollout.Conn, s rollout.Script) (rollout.Reply, error) {
		if s.Purpose == rollout.Purpose(hold.ReadScript) {
			return rollout.Reply{Code: hostscript.NoHold}, nil
		}
		return c.Run(ctx, s)
	}}
}

// TestTwoRunsBite lets two runs ignore each other's holds, and expects that
// they exceed the budgets of a pool and of the site.
func TestTwoRunsBite(t *testing.T) {
	for broken, inv := range map[string]engine.Inventory{"hosts at once, its budget is 2": twoCrews(2, 0), "the site loses": twoCrews(5, 3)} {
		t.Run(broken, func(t *testing.T) {
			err := runInBubble(t, func() error {
				careless := func(r *rollout.Run) { r.Hosts = carelessHosts(r.Hosts) }
				lastFirst := fromTheEnd(true)
				return runTogether(twoRunsPlay(inv, "", false), [][]int{{1}, {1}}, time.Second, careless, func(r *rollout.Run) {
					careless(r)
					lastFirst(r)
				})
			})
			if err == nil || !strings.Contains(err.Error(), broken) {
				t.Errorf("no law is broken that says %q: %v", broken, err)
			}
		})
	}
}

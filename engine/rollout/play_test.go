package rollout_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator"
)

// playFixture is a site with work, and the expected result.
type playFixture struct {
	site func() *simulator.Site
	done func(*simulator.Site) error

	// brief fixtures leave out faults that other fixtures test: no probe is
	// lost, and only the host of a step loses power.
	brief bool
}

// osPlay updates the OS of every host.
func osPlay(members, workers int) playFixture {
	inv := simulator.Fleet(members, workers)
	return playFixture{site: func() *simulator.Site { return newSite(inv) }, done: checkConverged}
}

// role is the old and the desired setting of a host, and the expected number of
// reboots.
type role struct {
	had, want string
	fails     bool // the actions of the setting fail
	reboots   int
}

// settingPlay returns a fixture that changes the settings of hosts.
func settingPlay(inv engine.Inventory, roles map[string]role) playFixture {
	return playFixture{
		brief: true,
		site: func() *simulator.Site {
			site := newSite(inv)
			for name, r := range roles {
				h := site.Host(name)
				if site.Want(name, r.want); r.had != "" {
					h.Set(r.had)
				}
				h.Change(func(t *simulator.Traits) { t.ActFails = r.fails })
			}
			return site
		},
		done: func(site *simulator.Site) error {
			errs := []error{checkLaws(site)}
			for _, h := range site.Hosts() {
				errs = append(errs, checkMatching(h))
				if n := len(h.State().Reboots); n != roles[h.Name].reboots {
					errs = append(errs, fmt.Errorf("%s was rebooted %d times, not %d", h.Name, n, roles[h.Name].reboots))
				}
			}
			return errors.Join(errs...)
		},
	}
}

// noOS removes the desired OS of all pools.
func noOS(inv engine.Inventory) engine.Inventory {
	for i := range inv.Pools {
		inv.Pools[i].OS = nil
	}
	return inv
}

// playFixtures returns the runs that tests kill, cut off and lose calls of at
// every point: OS alone, settings alone, and both.
func playFixtures() map[string]playFixture {
	together := func(wants ...string) map[string]role {
		roles := map[string]role{}
		for i, name := range []string{"etcd-0", "etcd-1", "etcd-2", "worker-0"} {
			roles[name] = role{had: "none-1", want: wants[i], fails: i == 1, reboots: 1}
		}
		return roles
	}
	return map[string]playFixture{
		"os": osPlay(3, 1),
		"settings": settingPlay(noOS(simulator.Fleet(3, 2)), map[string]role{
			"etcd-0":   {had: "none-1", want: "restart-2"},
			"etcd-1":   {had: "none-1", want: "reload-2"},
			"etcd-2":   {had: "none-1", want: "reboot-2", reboots: 1},
			"worker-0": {had: "none-1", want: "drain-reload-2"},
			"worker-1": {had: "", want: "none-2"},
		}),
		"failing settings": settingPlay(noOS(simulator.Fleet(3, 2)), map[string]role{
			"etcd-0":   {had: "none-1", want: "reload-2", fails: true, reboots: 1},
			"etcd-1":   {had: "none-1", want: "restart-2", fails: true, reboots: 1},
			"etcd-2":   {had: "reload-1", want: "reload-2"},
			"worker-0": {had: "none-1", want: "drain-restart-2", fails: true, reboots: 1},
			"worker-1": {had: "", want: "reload-2", fails: true, reboots: 1},
		}),
		"both": settingPlay(simulator.Fleet(3, 1), together("none-2", "reload-2", "restart-2", "reboot-2")),
	}
}

func eachPlay(t *testing.T, f func(*testing.T, playFixture)) {
	for name, p := range playFixtures() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, p)
		})
	}
}

// TestPlays checks that each play ends by itself, and that a second run changes
// nothing.
func TestPlays(t *testing.T) {
	eachPlay(t, func(t *testing.T, p playFixture) {
		failOnErrors(t, runInBubble(t, func() error {
			site := p.site()
			b := site.Bastion("run-1")
			end := applyRun(b, runSerially)
			if err := errors.Join(checkEnd(end, engine.ExitOK, "every host matches"), p.done(site)); err != nil {
				return fmt.Errorf("%w\n%s", err, runTranscript(b))
			}
			checkSecondRun(t, site)
			return nil
		}))
	})
}

// The plays of a playbook follow each other. A play that only stages disrupts
// nothing.
func TestPlaysFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inv := simulator.Fleet(3, 4)
		inv.Pools[1].MaxUnavailable = engine.CountOrPercent{Count: 4, Set: true}
		site := newSite(inv)
		b := site.Bastion("run-1")
		pool := func(name string) func(engine.Host) bool { return func(h engine.Host) bool { return h.Pool == name } }
		end := applyRun(b, func(r *rollout.Run) {
			r.Plays = []rollout.Play{
				{Play: engine.Play{Name: "members"}, Modules: r.Modules, Selected: pool("etcd")},
				{Play: engine.Play{Name: "workers", Serial: []engine.CountOrPercent{{Count: 1}, {Count: 2}}}, Modules: r.Modules, Selected: pool("worker")},
			}
		})
		failOnErrors(t, checkEnd(end, engine.ExitOK), checkConverged(site))
		var sizes []int
		var plays []string
		for _, e := range b.Events() {
			switch e.Type {
			case event.BatchStarted:
				sizes = append(sizes, len(strings.Split(e.Message, ", ")))
			case event.Planned:
				plays = append(plays, e.Plan.Play)
			}
		}
		if !slices.Equal(sizes, []int{1, 1, 1, 1, 2, 1}) || !slices.Equal(plays, []string{"members", "workers"}) {
			t.Errorf("batches of %v, plays %q", sizes, plays)
		}
	})
}

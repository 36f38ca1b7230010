package change_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sourcegraph/conc"
	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/etcd/setting"
	"holdfast/engine/event"
	"holdfast/engine/simulator"
)

// play plays the history, and returns the error of the first law that is broken.
func (h *membersHistory) play() error {
	inv := managedInventory(h.voters + h.fresh)
	inv.Pools[0].MaxUnavailable = engine.CountOrPercent{Count: h.budget, Set: true}
	if h.drained {
		inv.Pools[0].Drain = &engine.Drain{Command: "drain", Undo: "undrain"}
	}
	inv.Pools[0].Paused = h.paused
	h.site = simulator.New(inv, simulator.V1)
	for i, host := range h.site.Hosts() {
		host.Change(func(t *simulator.Traits) {
			t.Stage, t.Shutdown, t.Boot, t.Settle, t.CatchUp = 10*time.Second, 2*time.Second, time.Minute, 5*time.Second, h.catchUp
		})
		if i >= h.voters {
			host.LeaveCluster()
		}
	}
	for i, a := range h.acts {
		if err := h.playAct(i, a); err != nil {
			return err
		}
		time.Sleep(time.Duration(a.pause) * time.Second)
	}
	return h.playEnd()
}

// setInventory sets the OS that roll-outs bring, the hosts that are to have a voter, and the settings of etcd.
func (h *membersHistory) setInventory(digest string, wanted []bool, quota int64) {
	h.site.Inventory.Clusters = slices.Clone(h.site.Inventory.Clusters)
	managed := *h.site.Inventory.Clusters[0].Managed
	managed.Settings = &engine.EtcdSettings{QuotaBackendBytes: quota}
	h.site.Inventory.Clusters[0].Managed = &managed
	h.site.Inventory.Hosts = slices.Clone(h.site.Inventory.Hosts)
	for i := range wanted {
		h.site.Inventory.Hosts[i].Retired = !wanted[i]
	}
	h.site.Inventory.Pools = slices.Clone(h.site.Inventory.Pools)
	for i := range h.site.Inventory.Pools {
		h.site.Inventory.Pools[i].OS = &engine.OS{Driver: "simulator", Commit: digest}
	}
}

func (h *membersHistory) playAct(i int, a membersAct) error {
	h.setInventory([]string{simulator.V2, simulator.V3}[i%2], a.wanted, a.quota)
	names := []string{"members", "second", "roll-out"}
	runs := make([]*simulator.Bastion, len(names))
	for n, name := range names {
		runs[n] = h.newBastion(fmt.Sprintf("act%d-%s", i, name), []string{fmt.Sprint("b", a.by), fmt.Sprint("b", 1-a.by), "b2"}[n])
	}
	for n, run := range runs {
		run.Fault = h.causeIncidents(slices.DeleteFunc(slices.Clone(a.incidents), func(t membersIncident) bool { return t.run != n }))
	}
	earlier := slices.Clone(h.runs)
	var wg conc.WaitGroup
	ends := make([]error, len(runs))
	wg.Go(func() { ends[0] = h.changeMembers(runs[0], earlier) })
	if a.second >= 0 {
		wg.Go(func() {
			time.Sleep(time.Duration(a.second)*time.Second + 7*time.Microsecond)
			ends[1] = h.changeMembers(runs[1], earlier)
		})
	}
	if a.rollOut >= 0 {
		wg.Go(func() {
			time.Sleep(time.Duration(a.rollOut)*time.Second + 11*time.Microsecond)
			h.rollOut(runs[2], earlier, a.knowsAll)
		})
	}
	wg.Wait()
	h.runs = append(h.runs, runs...)
	return h.verify()
}

// causeIncidents returns a function that causes the incidents of a run at its calls.
func (h *membersHistory) causeIncidents(incidents []membersIncident) func(simulator.Call) simulator.Fault {
	counts := &callCounts{}
	return func(c simulator.Call) simulator.Fault {
		n := counts.add(c.Host)
		for _, t := range incidents {
			if on := ""; t.at != n || t.on >= 0 && c.Host != h.nameOf(t.on) || t.on < 0 && c.Host != on {
				continue
			}
			if do := hostIncidents[t.kind]; do != nil {
				do(h.site, h.site.Host(h.nameOf(t.host)))
				continue
			}
			return callIncidents[t.kind]
		}
		return simulator.NoFault
	}
}

func (h *membersHistory) nameOf(host int) string { return fmt.Sprintf("etcd-%d", host) }

// callCounts counts calls to each host. Calls to several hosts at once have no order.
type callCounts struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *callCounts) add(host string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[host]++
	return c.n[host]
}

func (h *membersHistory) newBastion(id, identity string) *simulator.Bastion {
	b := h.site.Bastion(id)
	b.Identity = identity
	counts := &callCounts{}
	b.Latency = func(c simulator.Call) time.Duration {
		return h.lags[(counts.add(c.Host)+len(c.Verb))%len(h.lags)]
	}
	return b
}

const (
	endless  = 200 * time.Hour
	mendTime = 3 * time.Hour // longer than any hold
)

func (h *membersHistory) changeMembers(b *simulator.Bastion, earlier []*simulator.Bastion) error {
	ctx, cancel := context.WithTimeout(context.Background(), endless)
	defer cancel()
	c := changeRun{bastion: b, inv: h.site.Inventory, earlier: earlier, sabotage: h.sabotage}
	c.apply(ctx)
	return errors.Join(c.err, ctx.Err())
}

func (h *membersHistory) rollOut(b *simulator.Bastion, earlier []*simulator.Bastion, knowsAll bool) event.RunEnd {
	ctx, cancel := context.WithTimeout(context.Background(), endless)
	defer cancel()
	r := b.Run()
	if !knowsAll {
		r.Inventory.Hosts = slices.Clone(r.Inventory.Hosts[:h.voters])
	}
	b.Knows = &r.Inventory
	r.Forks, r.Interval, r.OverIncomplete = 1, 15*time.Second, true
	simulator.Inherit(r, ofBastion(b.Identity, earlier)...)
	return b.Apply(ctx, r)
}

func ofBastion(identity string, all []*simulator.Bastion) []*simulator.Bastion {
	return slices.DeleteFunc(slices.Clone(all), func(b *simulator.Bastion) bool { return b.Identity != identity })
}

func (h *membersHistory) verify() error {
	if v := h.site.Violations(); len(v) > 0 {
		return errors.New(v[0])
	}
	return nil
}

// playEnd mends all faults, and then checks that a run ends with the wanted voters, or with an error that isExplained accepts.
func (h *membersHistory) playEnd() error {
	h.site.Alarm(mainCluster, "")
	for _, host := range h.site.Hosts() {
		host.Change(func(t *simulator.Traits) { t.NoEtcd, t.CatchUp = false, 0 })
		host.Heal()
		host.PowerOn()
		host.RestartMember()
	}
	time.Sleep(mendTime)
	var ends []string
	for i := range 3 {
		if i == 2 { // a person reads who holds the hosts
			h.releaseHolds()
		}
		err := h.changeMembers(h.newBastion(fmt.Sprint("end", i, "-members"), "b0"), h.runs)
		if err == nil {
			return errors.Join(h.verify(), h.verifyMembers())
		}
		ends = append(ends, err.Error())
		if h.isExplained(err) {
			return h.verify()
		}
		h.rollOut(h.newBastion(fmt.Sprint("end", i, "-roll-out"), "b2"), h.runs, i == 1) // of two, one knows all voters
		time.Sleep(mendTime)
	}
	if err := h.verify(); err != nil {
		return err
	}
	return fmt.Errorf("it does not end: %s", strings.Join(ends, "\n"))
}

// releaseHolds ends the holds that failed roll-outs have left.
func (h *membersHistory) releaseHolds() {
	for _, host := range h.site.Hosts() {
		if hold := host.Hold(); hold != nil && hold.Expires.IsZero() {
			host.Undrain()
			host.SetHold(nil)
		}
	}
}

// isExplained reports whether a refusal is right, because a person must act first: at least half of the voters have lost their
// data, or other settings need the restart of a member that the quorum needs.
func (h *membersHistory) isExplained(err error) bool {
	var r *membership.Refusal
	if !errors.As(err, &r) || r.Text == "" {
		return false
	}
	kept, m := 0, h.site.Membership(mainCluster)
	for _, name := range m.Voters {
		if h.site.Host(name).HasMember() {
			kept++
		}
	}
	// The only voter may have lost its disk while a learner was added: then no member is left, and the refusal names the host with the record.
	isGone := r.Kind == membership.QuorumLost || r.Kind == membership.HostNotReady
	return isGone && 2*kept <= len(m.Voters) || r.Kind == membership.NoMargin && len(m.Voters) < 3
}

func (h *membersHistory) verifyMembers() error {
	m := h.site.Membership(mainCluster)
	var wanted []string
	for _, host := range h.site.Inventory.Hosts {
		if !host.Retired {
			wanted = append(wanted, host.Name)
		}
	}
	slices.Sort(m.Voters)
	if !slices.Equal(m.Voters, wanted) || len(m.Healthy) != len(wanted) || len(m.Learners)+len(m.Records) > 0 {
		return fmt.Errorf("a run says that the members are as they should be, and they are %+v", m)
	}
	cluster, _ := h.site.Inventory.Cluster(mainCluster)
	for _, host := range h.site.Inventory.Hosts {
		if got, want := h.site.Host(host.Name).EtcdSettings(), setting.NewWanted(cluster, host).Values.File(); !host.Retired && got != want {
			return fmt.Errorf("a run says that the members are as they should be, and %s has the settings %q, not %q", host.Name, got, want)
		}
	}
	for _, host := range h.site.Hosts() {
		if hold := host.Hold(); hold != nil && hold.Cluster != "" && !hold.Expired(time.Now()) {
			return fmt.Errorf("%s is still %s", host.Name, hold)
		}
	}
	return nil
}

// TestSimulator grows and shrinks clusters in random histories, while roll-outs reboot their members.
func TestSimulator(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := drawHistory(rt)
		var err error
		synctest.Test(t, func(*testing.T) { err = h.play() })
		if err != nil {
			rt.Fatalf("%v\n%s", err, transcript(h.site))
		}
	})
}

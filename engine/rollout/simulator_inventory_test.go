package rollout_test

import (
	"fmt"
	"time"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// newInventory draws an inventory: up to three clusters, and up to four pools
// of workers. The members of a cluster may be in two pools, also together with
// workers. Most inventories are small.
func (d dice) newInventory() engine.Inventory {
	inv := engine.Inventory{Site: "random"}
	clusters, workers := d.IntN(3), d.IntN(4)
	if d.oneIn(10) {
		clusters = 3
	}
	if clusters+workers == 0 {
		workers = 1
	}
	most := 3
	if d.oneIn(300) {
		most = 20
	}
	var heads []string
	for i := range min(clusters, 1+d.IntN(2)) {
		heads = append(heads, fmt.Sprintf("etcd-%d", i))
		inv.Pools = append(inv.Pools, d.newPool(heads[i], inv.Pools))
	}
	zones := anyOf(d, []string{""}, []string{"a", "b"}, []string{"a", "b", "c"})
	add := func(name, pool, cluster string) {
		inv.Hosts = append(inv.Hosts, engine.Host{Name: name, Pool: pool, Cluster: cluster, Zone: anyOf(d, zones...)})
	}
	for i := range clusters {
		c := engine.Cluster{Name: fmt.Sprintf("c%d", i), ClientPort: 2379, AllowOutage: true, NoSnapshot: d.oneIn(3)}
		c.NotGoverned = !d.oneIn(6) // a governed staging takes one sample per second
		inv.Clusters = append(inv.Clusters, c)
		across := d.oneIn(3)
		for m := range anyOf(d, 1, 3, 3, 3, 5) {
			pool := heads[i%len(heads)]
			if across {
				pool = anyOf(d, heads...)
			}
			add(fmt.Sprintf("%s-m%d", c.Name, m), pool, c.Name)
		}
	}
	for i := range workers {
		p := d.newPool(fmt.Sprintf("w%d", i), inv.Pools)
		inv.Pools = append(inv.Pools, p)
		for n := range 1 + d.IntN(most) {
			add(fmt.Sprintf("%s-%d", p.Name, n), p.Name, "")
		}
	}
	if d.oneIn(4) {
		inv.MaxUnavailable = d.newBudget()
	}
	return inv
}

func (d dice) newBudget() engine.CountOrPercent {
	if d.oneIn(2) {
		return engine.CountOrPercent{Percent: anyOf(d, 10, 34, 50, 100), Set: true}
	}
	return engine.CountOrPercent{Count: 1 + d.IntN(3), Set: true}
}

// shortTimeouts shortens the wait for hosts that do not come back, because
// every probe takes test time.
func shortTimeouts() engine.Timeouts {
	return engine.Timeouts{
		Stage: engine.Duration(5 * time.Minute), Reboot: engine.Duration(4 * time.Minute), Health: engine.Duration(3 * time.Minute),
	}
}

func (d dice) newPool(name string, earlier []engine.Pool) engine.Pool {
	p := engine.Pool{Name: name, OS: &engine.OS{Driver: "simulator", Commit: simulator.V2}, Timeouts: shortTimeouts()}
	for _, e := range earlier {
		if d.oneIn(3) {
			p.After = append(p.After, e.Name)
		}
	}
	if d.oneIn(2) {
		p.Drain = &engine.Drain{Command: "drain", Undo: "undrain"}
	}
	if !d.oneIn(3) {
		p.MaxUnavailable = d.newBudget()
	}
	for _, when := range []engine.GateWhen{engine.BeforeRun, engine.BeforeBatch, engine.BeforeHost, engine.AfterHost, engine.AfterBatch} {
		if d.oneIn(6) {
			p.Gates = append(p.Gates, engine.Gate{Name: string(when), Command: "ready", When: []engine.GateWhen{when}, Timeout: engine.Duration(time.Minute)})
		}
	}
	d.addOrder(&p)
	return p
}

// addOrder draws the order of the hosts of a pool, and its windows.
func (d dice) addOrder(p *engine.Pool) {
	p.Order = anyOf(d, engine.Sorted, engine.ReverseSorted, engine.InInventory, engine.ReverseInventory, engine.Shuffled)
	if d.oneIn(3) {
		p.FailureBudget = d.newBudget()
	}
	if d.oneIn(4) {
		p.Canary = &engine.Canary{Hosts: d.newBudget(), Soak: engine.Duration(anyOf(d, 0, time.Minute, 6*time.Minute))}
	}
	if d.oneIn(4) {
		p.OnFailure = engine.RollbackFailed
	}
	if d.oneIn(10) {
		p.BatchTakes = engine.Duration(anyOf(d, 0, 5*time.Minute, time.Hour))
		for range 1 + d.IntN(2) {
			w := engine.Window{FromMinutes: d.IntN(24 * 60), ToMinutes: d.IntN(24 * 60)}
			if d.oneIn(2) {
				w.Days = []time.Weekday{time.Weekday(d.IntN(7)), time.Weekday(d.IntN(7))}
			}
			p.Windows = append(p.Windows, w)
		}
	}
}

package planner_test

import (
	"fmt"
	"testing"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/engine/planner/approval"
)

// newFleet returns a site with one etcd cluster for every 200 hosts, with three
// and five members in turn, and with worker pools. Every host has work.
func newFleet(hosts int, limit engine.CountOrPercent) *world {
	w := &world{
		pools:    []engine.Pool{{Name: "etcd", MaxUnavailable: engine.CountOrPercent{Percent: 10}}},
		clusters: map[string]*etcd{},
	}
	for c := range max(1, hosts/200) {
		name := fmt.Sprintf("cluster-%02d", c)
		w.pools = append(w.pools, engine.Pool{Name: "worker-" + name, After: []string{"etcd"}, MaxUnavailable: limit})
		w.clusters[name] = &etcd{leader: fmt.Sprintf("%s-etcd-0", name)}
		for i := range 3 + 2*(c%2) {
			w.hosts = append(w.hosts, &machine{name: fmt.Sprintf("%s-etcd-%d", name, i), pool: "etcd", cluster: name, zone: fmt.Sprintf("rack-%d", c%4), work: "reboot"})
		}
	}
	for i := len(w.hosts); i < hosts; i++ {
		name := fmt.Sprintf("cluster-%02d", i%len(w.clusters))
		w.hosts = append(w.hosts, &machine{name: fmt.Sprintf("%s-worker-%05d", name, i), pool: "worker-" + name, zone: fmt.Sprintf("rack-%d", i%7), work: "reboot"})
	}
	return w
}

func BenchmarkPlan(b *testing.B) {
	for _, limit := range []engine.CountOrPercent{{Percent: 10}, {Count: 1}} {
		for _, hosts := range []int{100, 1000, 10000} {
			b.Run(fmt.Sprintf("hosts=%d/max_unavailable=%s", hosts, limit), func(b *testing.B) {
				in := newFleet(hosts, limit).input()
				batches := 0
				b.ReportAllocs()
				for b.Loop() {
					p := planner.NewPlan(in)
					if len(p.Hosts) != hosts {
						b.Fatalf("%d of %d hosts are planned", len(p.Hosts), hosts)
					}
					batches = len(p.Batches)
				}
				b.ReportMetric(float64(batches), "batches")
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(hosts), "µs/host")
			})
		}
	}
}

// BenchmarkPlanOnePool plans the most expensive large fleet: one pool, one host
// at a time.
func BenchmarkPlanOnePool(b *testing.B) {
	for _, hosts := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			w := &world{pools: []engine.Pool{{Name: "worker"}}}
			for i := range hosts {
				m := worker(i)
				m.work, m.zone = "reboot", fmt.Sprintf("rack-%d", i%100)
				w.hosts = append(w.hosts, m)
			}
			in := w.input()
			b.ReportAllocs()
			for b.Loop() {
				if p := planner.NewPlan(in); len(p.Batches) != hosts {
					b.Fatalf("%d batches", len(p.Batches))
				}
			}
		})
	}
}

// BenchmarkPlanNothing plans a fleet that matches.
func BenchmarkPlanNothing(b *testing.B) {
	w := newFleet(10000, engine.CountOrPercent{Percent: 10})
	for _, m := range w.hosts {
		m.work = ""
	}
	in := w.input()
	b.ReportAllocs()
	for b.Loop() {
		if p := planner.NewPlan(in); !p.Empty() {
			b.Fatal("there is work")
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	p := planner.NewPlan(newFleet(10000, engine.CountOrPercent{Percent: 10}).input())
	b.ReportAllocs()
	for b.Loop() {
		if err := approval.CheckApproved(p, p); err != nil {
			b.Fatal(err)
		}
	}
}

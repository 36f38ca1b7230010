package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/planner"
	"holdfast/engine/resource"
	"holdfast/engine/wire"
	"holdfast/modules"
)

// osUpdateInput returns a site whose hosts all need another OS. The pool drains its hosts.
func osUpdateInput(hosts int) planner.Input {
	old, next := strings.Repeat("1", 64), strings.Repeat("2", 64)
	drain := engine.Drain{Command: "kubectl drain --ignore-daemonsets $HOLDFAST_HOST", Undo: "kubectl uncordon $HOLDFAST_HOST"}
	pool := engine.Pool{Name: "worker", MaxUnavailable: engine.CountOrPercent{Percent: 10, Set: true}, Drain: &drain}
	desired := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "site", Ref: "site/x86_64/stable", Commit: next}}
	in := planner.Input{
		Request: planner.Request{Inventory: engine.Inventory{Site: "berlin", Pools: []engine.Pool{pool}}, Desired: map[string]engine.Desired{}, Modules: modules.All()},
		Facts:   map[string]engine.Facts{}, Run: "20260730-120000-1a2b3c4d", Bastion: "0123456789abcdef0123456789abcdef", Now: time.Date(2026, 7, 30, 12, 0, 0, 0, time.UTC),
	}
	for i := range hosts {
		name := fmt.Sprintf("worker-%05d", i)
		in.Inventory.Hosts = append(in.Inventory.Hosts, engine.Host{Name: name, Address: name + ".example.com", Pool: pool.Name, Zone: fmt.Sprintf("rack-%02d", i%20)})
		in.Desired[name] = desired
		in.Facts[name] = engine.Facts{
			Host: name, BootID: resource.BootID(fmt.Sprintf("%08d-1f2e-4d3c-8b5a-69788796a5b4", i)), Clock: in.Now, Tool: "ostree 2024.5", FreeBytes: 100 << 30,
			Deployments: []engine.Deployment{{Digest: old, Version: "44.1", ID: "fedora-coreos-" + old + ".0", Origin: "site:site/x86_64/stable", Booted: true}},
			Running:     []string{"chronyd.service", "crio.service", "kubelet.service", "sshd.service"},
		}
	}
	return in
}

// TestPlanHasEachStepOnce checks the size of the plan of an update: a host adds
// only its own values to it, however long the steps and their scripts are.
func TestPlanHasEachStepOnce(t *testing.T) {
	t.Parallel()
	size := func(hosts int) int {
		p := planner.NewPlan(osUpdateInput(hosts))
		if len(p.Hosts) != hosts {
			t.Fatalf("%d of %d hosts are planned; %+v", len(p.Hosts), hosts, p.Excluded)
		}
		line, err := wire.MarshalEvent(event.Event{Type: event.Planned, Plan: &p})
		if err != nil {
			t.Fatal(err)
		}
		return len(line)
	}
	const most = 800 // bytes of a host, so that a plan of 10,000 hosts has 8 MB at most
	if each := (size(300) - size(100)) / 200; each > most {
		t.Errorf("each host adds %d bytes to the JSON of a plan; want %d at most", each, most)
	}
}

// BenchmarkPlanOSUpdate plans an update of the OS on 10,000 hosts, and writes the plan
// as the journal has it.
func BenchmarkPlanOSUpdate(b *testing.B) {
	const hosts = 10_000
	in := osUpdateInput(hosts)
	b.Run("plan", func(b *testing.B) {
		b.ReportAllocs()
		began := processorTime()
		for b.Loop() {
			if p := planner.NewPlan(in); len(p.Hosts) != hosts {
				b.Fatal(p.Excluded)
			}
		}
		b.ReportMetric(float64(processorTime()-began)/float64(b.N)/1e6, "cpu-ms/op")
		before := liveBytes()
		p := planner.NewPlan(in)
		b.ReportMetric(float64(liveBytes()-before)/1e6, "live-MB")
		runtime.KeepAlive(p)
	})
	p := planner.NewPlan(in)
	var line []byte
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		began := processorTime()
		for b.Loop() {
			var err error
			if line, err = wire.MarshalEvent(event.Event{Type: event.Planned, Plan: &p}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime()-began)/float64(b.N)/1e6, "cpu-ms/op")
		b.ReportMetric(float64(len(line))/1e6, "JSON-MB")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		began := processorTime()
		for b.Loop() {
			var e event.Event
			if err := json.Unmarshal(line, &e); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(processorTime()-began)/float64(b.N)/1e6, "cpu-ms/op")
		b.ReportMetric(peakMB(b), "peak-RSS-MB")
	})
}

func liveBytes() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// peakMB returns the highest memory that the process has had, in MB.
func peakMB(b *testing.B) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	kib, err := strconv.ParseFloat(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindStringSubmatch(string(text))[1], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib * 1024 / 1e6
}

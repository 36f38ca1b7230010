package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/planner"
	"holdfast/modules"
)

// BenchmarkConfigNoChange runs "holdfast apply --yes" over matching hosts with
// 500 files of 4 KiB each. The time of an operation includes the hosts on the
// same machine, which read and hash their files. bastion-cpu-ns/host is the
// processor time of the program alone.
func BenchmarkConfigNoChange(b *testing.B) {
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("hosts=%d/files=500", n), func(b *testing.B) {
			f := newConfigFleet(b, n, 500)
			seen := f.checkVisits(nil, 0, 0)
			var cpu time.Duration
			for b.Loop() {
				cpu += f.runProgram(engine.ExitOK, "apply", "--yes").cpu
			}
			f.checkVisits(seen, b.N, b.N)
			b.ReportMetric(float64(cpu)/float64(b.N*n), "bastion-cpu-ns/host")
		})
	}
}

// BenchmarkConfigQuiet changes a non-disruptive file on all hosts, which takes
// three round trips: gather, write, gather.
func BenchmarkConfigQuiet(b *testing.B) {
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("hosts=%d/files=500", n), func(b *testing.B) {
			f := newConfigFleet(b, n, 500)
			seen := f.checkVisits(nil, 0, 0)
			var cpu time.Duration
			for b.Loop() {
				b.StopTimer()
				f.files["/etc/mild.conf"] += "x"
				f.writeDocuments()
				b.StartTimer()
				cpu += f.runProgram(engine.ExitOK, "apply", "--yes").cpu
			}
			f.checkVisits(seen, b.N, 3*b.N)
			b.ReportMetric(float64(cpu)/float64(b.N*n), "bastion-cpu-ns/host")
		})
	}
}

// BenchmarkConfigPlan plans 1,000 hosts with 500 files each, from the facts of
// one host: first hosts that all match, then hosts with one changed file each.
// Each host has its own copy of the facts, as in a run.
func BenchmarkConfigPlan(b *testing.B) {
	const hosts = 1000
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("hosts=%d/files=500/changed=%t", hosts, changed), func(b *testing.B) {
			in, work := planInput(b, hosts, changed), 0
			if changed {
				work = hosts
			}
			b.ReportAllocs()
			start := processorTime()
			for b.Loop() {
				if p := planner.NewPlan(in); len(p.Hosts) != work || len(p.Matching) != hosts-work {
					b.Fatalf("%d hosts to change, %d match; %v", len(p.Hosts), len(p.Matching), p.Excluded[0])
				}
			}
			b.ReportMetric(float64(processorTime()-start)/float64(b.N*hosts), "cpu-ns/host")
		})
	}
}

func planInput(b *testing.B, hosts int, changed bool) planner.Input {
	b.Setenv("HOME", b.TempDir())
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv("SSH_AUTH_SOCK", "")
	f := newConfigFleet(b, 1, 500)
	if changed {
		f.files["/etc/free.conf"] = "new"
		f.writeDocuments()
	}
	a := &siteOpener{inventory: []string{filepath.Join(f.dir, "site.hcl")}, console: console{soft: b.Context()}}
	s, err := a.openDesired(b.Context())
	f.checkError(err)
	defer s.close()
	facts := s.run.GatherHosts(b.Context())["w-00"]
	text, err := json.Marshal(facts)
	f.checkError(err)
	in := planner.Input{Request: planner.Request{Inventory: s.inv, Desired: map[string]engine.Desired{}, Modules: modules.All()}, Facts: map[string]engine.Facts{}, Run: "r1"}
	first := s.inv.Hosts[0]
	in.Inventory.Hosts = nil
	for i := range hosts {
		h := first
		h.Name = fmt.Sprintf("w-%04d", i)
		own := facts
		own.Config = nil
		f.checkError(json.Unmarshal([]byte(strings.ReplaceAll(string(text), `"w-00"`, `"`+h.Name+`"`)), &own))
		in.Inventory.Hosts = append(in.Inventory.Hosts, h)
		in.Desired[h.Name], in.Facts[h.Name] = s.run.Desired["w-00"], own
	}
	return in
}

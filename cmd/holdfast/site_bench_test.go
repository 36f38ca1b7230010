package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/planner"
	"holdfast/engine/wire"
)

// largeSite is the number of hosts that one bastion must be able to plan.
const largeSite = 100_000

// BenchmarkLargeValidate validates an inventory of 100,000 hosts with a program of its own, and reports its
// processor time and its largest memory.
func BenchmarkLargeValidate(b *testing.B) {
	for name, perBlock := range map[string]int{"racks": 50, "single": 1} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			writeLargeSite(b, dir, perBlock)
			var used time.Duration
			var most int64
			for b.Loop() {
				p := exec.Command(os.Args[0])
				p.Args = []string{"holdfast", "validate", "-i", dir} // with this first argument, the test binary is the program
				p.Env = append(os.Environ(), "HOME="+dir)
				out, err := p.CombinedOutput()
				if err != nil || !bytes.Contains(out, []byte(fmt.Sprintf("hosts: %d", largeSite))) {
					b.Fatalf("%v: %.2000s", err, out)
				}
				usage := p.ProcessState.SysUsage().(*syscall.Rusage)
				used += p.ProcessState.UserTime() + p.ProcessState.SystemTime()
				most = max(most, usage.Maxrss)
			}
			b.ReportMetric(used.Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(most)*1024/1e6, "peak-RSS-MB")
		})
	}
}

// writeLargeSite writes racks of 50 hosts into files of 10,000 hosts each.
func writeLargeSite(b *testing.B, dir string, perBlock int) {
	site := "site \"large\" {\n  ssh {\n    user = \"core\"\n    become = \"sudo\"\n    ssh_config = \"none\"\n  }\n}\npool \"worker\" {\n  max_unavailable = \"10%\"\n  os {\n    driver = \"ostree\"\n    commit = \"" + v2 + "\"\n  }\n}\n"
	files := map[string]*bytes.Buffer{"site.hcl": bytes.NewBufferString(site)}
	for i := 0; i < largeSite; i += perBlock {
		name := fmt.Sprintf("hosts-%02d.hcl", i/10_000)
		if files[name] == nil {
			files[name] = &bytes.Buffer{}
		}
		if perBlock == 1 {
			fmt.Fprintf(files[name], "host \"worker-%06d\" {\n  address = \"10.%d.%d.%d\"\n  pool    = \"worker\"\n  zone    = \"rack-%d\"\n}\n", i, i/62_500, i/250%250, i%250, i/50)
			continue
		}
		rack := i / perBlock
		fmt.Fprintf(files[name], "hosts \"r%04d\" {\n  range   = \"11-%d\"\n  address = \"10.%d.%d.${id}\"\n  pool    = \"worker\"\n  zone    = \"rack-%d\"\n}\n", rack, perBlock+10, rack/250, rack%250, rack)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLargePlan plans an update of the OS on 100,000 hosts, from facts that are in memory.
func BenchmarkLargePlan(b *testing.B) {
	in := osUpdateInput(largeSite)
	began := processorTime()
	for b.Loop() {
		if p := planner.NewPlan(in); len(p.Hosts) != largeSite {
			b.Fatal(len(p.Hosts))
		}
	}
	b.ReportMetric((processorTime()-began).Seconds()/float64(b.N), "cpu-s/op")
	b.ReportMetric(peakMB(b), "peak-RSS-MB")
	before := liveBytes()
	p := planner.NewPlan(in)
	b.ReportMetric(float64(liveBytes()-before)/1e6, "live-MB")
	runtime.KeepAlive(p)
}

// BenchmarkLargeJournal reads the journal of a roll-out of 100,000 hosts, as every command does that asks for
// earlier runs, and as report does.
func BenchmarkLargeJournal(b *testing.B) {
	dir := b.TempDir()
	size := writeLargeJournal(b, dir)
	read := func(name string, f func() error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			began := processorTime()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((processorTime()-began).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(size)/1e6, "journal-MB")
			b.ReportMetric(peakMB(b), "peak-RSS-MB")
		})
	}
	read("history", func() error {
		runs, err := journal.ListRuns(dir)
		if err == nil && (len(runs) != 1 || len(runs[0].Updated) != largeSite) {
			err = fmt.Errorf("%d runs", len(runs))
		}
		return err
	})
	read("events", func() error {
		events := 0
		_, err := journal.Inspect(dir, largeRun, b.TempDir(), func(event.Event) error {
			events++
			return nil
		})
		if err == nil && events < 10*largeSite {
			err = fmt.Errorf("%d events", events)
		}
		return err
	})
}

const largeRun = "20261121-080000-0001"

// writeLargeJournal writes the events of a roll-out in batches of 1,000 hosts, with 11 events of each host.
func writeLargeJournal(b *testing.B, dir string) int64 {
	p := planner.NewPlan(osUpdateInput(largeSite))
	file, err := os.Create(filepath.Join(dir, largeRun+".jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	emit := func(e event.Event) {
		e.Time, at = at, at.Add(time.Millisecond)
		line, err := wire.MarshalEvent(e)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	emit(event.Event{Type: event.RunStarted, Start: &event.RunStart{Site: "berlin"}})
	emit(event.Event{Type: event.Planned, Plan: &p})
	for i, batch := range p.Batches {
		emit(event.Event{Type: event.BatchStarted, Batch: i + 1, Hosts: batch.Hosts})
		for _, host := range batch.Hosts {
			for _, step := range []string{"hold", "finalize", "wait for boot", "wait for units", "release"} {
				emit(event.Event{Type: event.StepStarted, Host: host, Step: step, Batch: i + 1})
				emit(event.Event{Type: event.StepEnded, Host: host, Step: step, Batch: i + 1, Took: engine.Duration(4 * time.Second)})
			}
			emit(event.Event{Type: event.HostDone, Host: host, Batch: i + 1})
		}
		emit(event.Event{Type: event.BatchEnded, Batch: i + 1})
	}
	emit(event.Event{Type: event.RunEnded, End: &event.RunEnd{}})
	if err := out.Flush(); err != nil {
		b.Fatal(err)
	}
	size, err := file.Seek(0, 1)
	if err != nil {
		b.Fatal(err)
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
	return size
}

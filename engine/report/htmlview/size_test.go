package htmlview_test

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report/htmlview"
	"holdfast/engine/report/reporttest"
)

// rollRun returns a run that updates workers in batches of 20, with samples of an
// etcd cluster every ten seconds. Some workers do not come back.
func rollRun(workers int) []event.Event {
	var s reporttest.Script
	s.StartRun("--yes")
	p := engine.Plan{Schema: engine.PlanSchema, Site: "berlin", Total: workers}
	var hosts []string
	for i := range workers {
		hosts = append(hosts, fmt.Sprintf("worker-%03d", i))
		p.Hosts = append(p.Hosts, reporttest.OSPlan(hosts[i], "worker", "", ""))
		p.Lanes = append(p.Lanes, engine.Lane{Hosts: hosts[i : i+1]})
	}
	limits := (&engine.Latency{}).WithDefaults()
	p.Lanes = append(p.Lanes, engine.Lane{Cluster: "main", Hosts: hosts[:3], Governing: &engine.Governing{Latency: limits}})
	s.AddEvent(event.Event{Type: event.Planned, Plan: &p})
	s.AddEvent(event.Event{Type: event.StageStarted})
	for i, batch := range slices.Collect(slices.Chunk(hosts, 20)) {
		s.At = reporttest.Began.Add(time.Duration(i) * 15 * time.Minute)
		s.AddEvent(event.Event{Type: event.BatchStarted, Batch: i + 1, Hosts: batch})
		for j := range batch {
			s.RollHost(20*i + j)
		}
		s.AddEvent(event.Event{Type: event.BatchEnded, Batch: i + 1})
		for second := 0; second < 900; second += 10 {
			sample := event.Sample{Voters: 3, Healthy: 3, Quorum: 2}
			for j := range 3 {
				slow := 1 + float64((second/10*7+j*13+i)%29)/10
				sample.Latency = append(sample.Latency, engine.LatencyPoint{Host: fmt.Sprintf("etcd-%d", j), Window: engine.Duration(10 * time.Second), WALFsyncP99Seconds: 0.003 * slow, BackendCommitP99Seconds: 0.008 * slow})
			}
			s.At = reporttest.Began.Add(time.Duration(i)*15*time.Minute + time.Duration(second)*time.Second)
			s.AddEvent(event.Event{Type: event.EtcdSampled, Cluster: "main", Etcd: &sample})
		}
	}
	s.EndByFailure(engine.Failure{Host: "worker-007", Step: "wait for boot", Cause: "did not come back within 20m0s"})
	return s.Events
}

// TestSizes checks the size of the pages of many hosts, and that their sums are
// those of the summary.
func TestSizes(t *testing.T) {
	for hosts, most := range map[int]int{5: 100 << 10, 50: 200_000, 200: 400_000, 1000: 1_000_000} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			events := rollRun(hosts)
			page := writePage(t, events, htmlview.Journal{})
			t.Logf("%d hosts: %d bytes", hosts, len(page))
			if len(page) > most {
				t.Errorf("the page of %d hosts has %d bytes, more than %d", hosts, len(page), most)
			}
			checkSums(t, events, page)
		})
	}
}

// BenchmarkReport makes the page of a run of 1,000 hosts from its journal. It
// reports its processor time, and the heap at the end, before garbage is
// collected.
func BenchmarkReport(b *testing.B) {
	dir := b.TempDir()
	w, err := journal.Create(dir, "run")
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range rollRun(1000) {
		if err := w.Emit(e); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	began := processorTime(b)
	for b.Loop() {
		v := htmlview.New()
		state, err := journal.Inspect(dir, "run", dir, func(e event.Event) error {
			v.AddEvent(e)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
		var page bytes.Buffer
		if err := v.WritePage(&page, htmlview.Journal(state)); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(page.Len()), "bytes/page")
	}
	b.ReportMetric((processorTime(b)-began).Seconds()/float64(b.N), "cpu-s/op")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/1e6, "MB-heap")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

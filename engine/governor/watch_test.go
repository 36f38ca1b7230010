package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// counters are the time of their scrape and the worst fsync so far in each second.
type counters struct {
	at    time.Duration
	fsync func(time.Duration) float64
}

func (c counters) P99Since(earlier governor.Counters, host string) engine.LatencyPoint {
	from := earlier.(counters).at
	p := engine.LatencyPoint{Host: host, Window: engine.Duration(c.at - from), WALFsyncBucket: &engine.LatencyBucket{Observed: 1}}
	for at := from + time.Second; at <= c.at; at += time.Second {
		p.WALFsyncP99 = max(p.WALFsyncP99, c.fsync(at))
	}
	return p
}

// TestWatch: readings are of the last seconds, the report is of the whole staging and of its worst window.
func TestWatch(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at == 20*time.Second {
			return 0.5
		}
		return 0.001
	}
	w := governor.NewWatch(map[string]engine.LatencyPoint{"etcd-0": {WALFsyncP99: 0.002}})
	for at := time.Duration(0); at <= time.Minute; at += time.Second {
		scrapes := []governor.Scrape{{Host: "etcd-0", Counters: counters{at, fsync}}, {Host: "etcd-1", Problem: "no answer"}}
		readings := w.AddScrapes(began.Add(at), scrapes)
		r := readings[0]
		if r.Missing != (at == 0) || !readings[1].Missing {
			t.Fatalf("at %s: %+v", at, readings)
		}
		if slow := at >= 20*time.Second && at < 23*time.Second; (r.Recent.WALFsyncP99 > 0.1) != slow {
			t.Errorf("at %s: recent %+v", at, r.Recent)
		}
		if slow := at >= 20*time.Second && at < 30*time.Second; (r.Window.WALFsyncP99 > 0.1) != slow {
			t.Errorf("at %s: window %+v", at, r.Window)
		}
	}
	report := w.Report()
	if len(report) != 1 {
		t.Fatalf("%+v", report)
	}
	m := report[0]
	if m.Idle.WALFsyncP99 != 0.002 || m.Staging.Window != engine.Duration(time.Minute) || m.Worst.WALFsyncP99 != 0.5 || m.WorstAt != began.Add(10*time.Second) {
		t.Errorf("%+v", m)
	}
}

package governor_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// counters have the time of their scrape, and the worst fsync of each second
// until then.
type counters struct {
	from, at time.Duration
	fsync    func(time.Duration) float64
	more     float64                     // worst fsync of the counters that Plus has added
	commit   func(time.Duration) float64 // worst backend commit of each second; nil: none
}

func (c counters) Since(earlier governor.Counters) governor.Counters {
	c.from = earlier.(counters).at
	return c
}

func (c counters) Plus(other governor.Counters) governor.Counters {
	o := other.(counters)
	c.more = max(c.more, o.Latency("", 0).WALFsyncP99Seconds)
	return c
}

func (c counters) Latency(host string, _ int) engine.LatencyPoint {
	p := engine.LatencyPoint{Host: host, Window: engine.Duration(c.at - c.from), WALFsyncP99Seconds: c.more, WALFsyncBucket: &engine.LatencyBucket{Observed: 1}}
	for at := c.from + time.Second; at <= c.at; at += time.Second {
		p.WALFsyncP99Seconds = max(p.WALFsyncP99Seconds, c.fsync(at))
		if c.commit != nil {
			p.BackendCommitP99Seconds = max(p.BackendCommitP99Seconds, c.commit(at))
		}
	}
	return p
}

func (c counters) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return c.Latency(host, exceptional)
}

// TestWatch checks that a reading is about the last seconds, and that the
// report is about the whole staging and its worst window.
func TestWatch(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at == 20*time.Second {
			return 0.5
		}
		return 0.001
	}
	w := governor.NewWatch(map[string]governor.Counters{"etcd-0": counters{more: 0.002}})
	for at := time.Duration(0); at <= time.Minute; at += time.Second {
		scrapes := []governor.Scrape{{Host: "etcd-0", Counters: counters{at: at, fsync: fsync}}, {Host: "etcd-1", Problem: "no answer"}}
		readings := w.AddScrapes(began.Add(at), scrapes, time.Time{})
		r := readings[0]
		if r.Missing != (at == 0) || !readings[1].Missing {
			t.Fatalf("at %s: %+v", at, readings)
		}
		if slow := at >= 20*time.Second && at < 23*time.Second; (r.Recent.WALFsyncP99Seconds > 0.1) != slow {
			t.Errorf("at %s: recent %+v", at, r.Recent)
		}
		if slow := at >= 20*time.Second && at < 30*time.Second; (r.Window.WALFsyncP99Seconds > 0.1) != slow {
			t.Errorf("at %s: window %+v", at, r.Window)
		}
	}
	report := w.Report()
	if len(report) != 1 {
		t.Fatalf("%+v", report)
	}
	m := report[0]
	if m.Idle.WALFsyncP99Seconds != 0.002 || m.Staging.Window != engine.Duration(time.Minute) || m.Worst.WALFsyncP99Seconds != 0.5 || m.WorstAt != began.Add(10*time.Second) {
		t.Errorf("%+v", m)
	}
}

// TestPausesTellTheIdleLatency checks that observations during pauses are the
// idle latency, and that the newest half minute of pauses counts.
func TestPausesTellTheIdleLatency(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at == 15*time.Second {
			return 0.5
		}
		return 0.003
	}
	w := governor.NewWatch(map[string]governor.Counters{"etcd-0": counters{more: 0.002}})
	for at := time.Duration(0); at <= 90*time.Second; at += time.Second {
		var idleSince time.Time
		switch {
		case at > 40*time.Second:
			idleSince = began.Add(40 * time.Second)
		case at > 10*time.Second && at <= 20*time.Second:
			idleSince = began.Add(10 * time.Second)
		}
		r := w.AddScrapes(began.Add(at), []governor.Scrape{{Host: "etcd-0", Counters: counters{at: at, fsync: fsync}}}, idleSince)[0]
		want := 0.002
		switch {
		case at > 65*time.Second: // half a minute of pauses later
			want = 0.003
		case at >= 15*time.Second:
			want = 0.5
		case at > 10*time.Second:
			want = 0.003
		}
		if at > 0 && at != 65*time.Second && r.Idle.WALFsyncP99Seconds != want {
			t.Errorf("at %s: idle %g, want %g", at, r.Idle.WALFsyncP99Seconds, want)
		}
	}
	if idle := w.Report()[0].Idle; idle.WALFsyncP99Seconds != 0.002 {
		t.Errorf("idle before: %+v", idle)
	}
}

// TestStagingBeforeAPauseIsNotIdle checks a member that does not answer from before a pause until some seconds into it:
// its next counters include the staging, so they are not taken for idle. The counters after them are.
func TestStagingBeforeAPauseIsNotIdle(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at > 5*time.Second && at <= 30*time.Second {
			return 0.5
		}
		return 0.003
	}
	w := governor.NewWatch(map[string]governor.Counters{"etcd-0": counters{more: 0.002}})
	for at := time.Duration(0); at <= 40*time.Second; at += time.Second {
		s := governor.Scrape{Host: "etcd-0", Problem: "no answer"}
		if at <= 10*time.Second || at >= 33*time.Second {
			s = governor.Scrape{Host: "etcd-0", Counters: counters{at: at, fsync: fsync}}
		}
		var idleSince time.Time
		if at > 30*time.Second {
			idleSince = began.Add(30 * time.Second)
		}
		r := w.AddScrapes(began.Add(at), []governor.Scrape{s}, idleSince)[0]
		want := 0.002
		if at > 33*time.Second {
			want = 0.003
		}
		if !r.Missing && r.Idle.WALFsyncP99Seconds != want {
			t.Errorf("at %s: idle %g, want %g", at, r.Idle.WALFsyncP99Seconds, want)
		}
	}
}

// TestLateAnswersAreNotIdleTooEarly checks a member whose answers come later than the next sample: its counters are from
// before the pause, although they arrive in the pause.
func TestLateAnswersAreNotIdleTooEarly(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at <= 30*time.Second {
			return 0.5
		}
		return 0.003
	}
	const late = 2 * time.Second
	w := governor.NewWatch(map[string]governor.Counters{"etcd-0": counters{more: 0.002}})
	for at := late; at <= 45*time.Second; at += time.Second {
		var idleSince time.Time
		if at > 30*time.Second {
			idleSince = began.Add(30 * time.Second)
		}
		s := governor.Scrape{Host: "etcd-0", Counters: counters{at: at - late, fsync: fsync}, Began: began.Add(at - late)}
		r := w.AddScrapes(began.Add(at), []governor.Scrape{s}, idleSince)[0]
		want := 0.002
		if at > 30*time.Second+late {
			want = 0.003
		}
		if !r.Missing && r.Idle.WALFsyncP99Seconds != want {
			t.Errorf("at %s: idle %g, want %g", at, r.Idle.WALFsyncP99Seconds, want)
		}
	}
}

// rareCounters count the seconds until a scrape, each with 20 observations, and the slow observations in them.
type rareCounters struct {
	seconds, slow int
}

func (c rareCounters) Since(earlier governor.Counters) governor.Counters {
	o := earlier.(rareCounters)
	return rareCounters{c.seconds - o.seconds, c.slow - o.slow}
}

func (c rareCounters) Plus(other governor.Counters) governor.Counters {
	o := other.(rareCounters)
	return rareCounters{c.seconds + o.seconds, c.slow + o.slow}
}

func (c rareCounters) Latency(host string, _ int) engine.LatencyPoint {
	p := engine.LatencyPoint{Host: host, Window: engine.Duration(c.seconds) * engine.Duration(time.Second), WALFsyncP99Seconds: 0.005, WALFsyncBucket: &engine.LatencyBucket{Observed: uint64(20 * c.seconds)}}
	if 100*c.slow > 20*c.seconds {
		p.WALFsyncP99Seconds = 0.02
	}
	return p
}

func (c rareCounters) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return c.Latency(host, exceptional)
}

// TestIdleLatencyRisesOnlyByALoadThatStays checks that half a minute of pauses with a few slow observations does not raise
// the idle latency, and that a load does that stays for a minute and a half of pauses. It falls within half a minute.
func TestIdleLatencyRisesOnlyByALoadThatStays(t *testing.T) {
	w := governor.NewWatch(map[string]governor.Counters{"etcd-0": rareCounters{seconds: 10}})
	slow := 0
	for second := 1; second < 500; second++ {
		loaded := second > 120 && second <= 145 || second > 300 && second <= 400
		if loaded && second%2 == 0 {
			slow++ // 2.5 % of the observations
		}
		r := w.AddScrapes(began.Add(time.Duration(second)*time.Second), []governor.Scrape{{Host: "etcd-0", Counters: rareCounters{second, slow}}}, began)[0]
		switch raised := r.Idle.WALFsyncP99Seconds > 0.005; {
		case second < 300 && raised, second > 430 && raised:
			t.Errorf("at %d s: idle %g s", second, r.Idle.WALFsyncP99Seconds)
		case second > 360 && second <= 400 && !raised:
			t.Errorf("at %d s: idle %g s, although the load stays", second, r.Idle.WALFsyncP99Seconds)
		}
	}
}

// TestWorstWindowFollowsBothLatencies checks that the worst window is the one with a slow backend commit, if this one
// is worse in relation to the latency that etcd recommends than a slow WAL fsync in another window.
func TestWorstWindowFollowsBothLatencies(t *testing.T) {
	slowAt := func(slow time.Duration, p99 float64) func(time.Duration) float64 {
		return func(at time.Duration) float64 {
			if at == slow {
				return p99
			}
			return 0.001
		}
	}
	for _, c := range []struct {
		commit float64
		at     time.Duration
	}{{0.2, 40 * time.Second}, {0.04, 20 * time.Second}} {
		w := governor.NewWatch(nil)
		for at := time.Duration(0); at <= time.Minute; at += time.Second {
			w.AddScrapes(began.Add(at), []governor.Scrape{{Host: "etcd-0", Counters: counters{at: at, fsync: slowAt(20*time.Second, 0.02), commit: slowAt(40*time.Second, c.commit)}}}, time.Time{})
		}
		if m := w.Report()[0]; m.WorstAt != began.Add(c.at-10*time.Second) {
			t.Errorf("commits of %g s: worst at %s: %+v", c.commit, m.WorstAt.Sub(began), m.Worst)
		}
	}
}

// TestWorstWindowIsNotTheFirstSecond checks that a slow moment at the start of a staging counts as much as a later one: in
// a window of ten seconds, or in the whole staging if that is shorter.
func TestWorstWindowIsNotTheFirstSecond(t *testing.T) {
	fsync := func(at time.Duration) float64 {
		if at == time.Second {
			return 0.028
		}
		return 0.001
	}
	w := governor.NewWatch(nil)
	for at := time.Duration(0); at <= 30*time.Second; at += time.Second {
		w.AddScrapes(began.Add(at), []governor.Scrape{{Host: "etcd-0", Counters: counters{at: at, fsync: fsync}}}, time.Time{})
		if at == 0 {
			continue
		}
		if m := w.Report()[0]; m.Worst.Window != engine.Duration(min(at, 10*time.Second)) || m.WorstAt != began || m.Worst.WALFsyncP99Seconds != 0.028 {
			t.Errorf("after %s: worst at %s: %+v", at, m.WorstAt.Sub(began), m.Worst)
		}
	}
}

package bench

import (
	"math"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd/metrics"
)

var began = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

// scrapedAt returns metrics with three numbers of observations: those up to 8 ms, those up to 256
// ms, and all.
func scrapedAt(second int, quick, slow, all uint64) metrics.Counters {
	h := metrics.Histogram{Buckets: []metrics.Bucket{{UpperBound: 0.008, Count: quick}, {UpperBound: 0.256, Count: slow}, {UpperBound: math.Inf(1), Count: all}}}
	return metrics.Counters{WALFsync: h, BackendCommit: h, ScrapedAt: began.Add(time.Duration(second) * time.Second)}
}

func TestWorstWindow(t *testing.T) {
	var s series
	quick, slow := uint64(0), uint64(0)
	for second := range 60 {
		quick += 100
		if second == 30 {
			slow += 50
		}
		s = append(s, scrapedAt(second, quick, quick+slow, quick+slow))
	}
	overall, worst := s.overallLatencies()[walFsync], s.worstLatencies()[walFsync]
	if overall.p99 > 8*time.Millisecond || overall.max != 256*time.Millisecond {
		t.Errorf("overall %+v", overall)
	}
	if worst.p99 < 100*time.Millisecond || worst.max != 256*time.Millisecond {
		t.Errorf("worst %+v", worst)
	}
	part := s.scrapesBetween(began.Add(40*time.Second+time.Millisecond), began.Add(50*time.Second))
	if len(part) != 12 || part.worstLatencies()[walFsync].max != 8*time.Millisecond {
		t.Errorf("%d scrapes, worst %+v", len(part), part.worstLatencies())
	}
	if none := (series{}).worstLatencies(); none != (latencies{}) {
		t.Errorf("worst of nothing %+v", none)
	}
	if beyond := spreadOf(scrapedAt(0, 1, 2, 3).WALFsync); formatTime(beyond.max) != "> 8.2 s" {
		t.Errorf("beyond the last bound: %+v", beyond)
	}
}

func TestLimitsFollowTheIdleLatency(t *testing.T) {
	during := latencies{{p99: 15 * time.Millisecond}, {p99: 20 * time.Millisecond}}
	if got := during.excessOver(latencies{}); got != 1.5 {
		t.Errorf("excess %g", got)
	}
	if got := during.excessOver(latencies{{p99: 16 * time.Millisecond}}); got != 0.8 {
		t.Errorf("excess %g", got)
	}
}

func TestReadEvents(t *testing.T) {
	const events = `{"type":"stage-started","time":"2026-11-23T03:00:00Z"}
{"type":"staging-governed","governor":{"state":"ended","slowed":"3s","paused":"1s"}}
{"type":"stage-ended","time":"2026-11-23T03:00:20Z"}
{"type":"step-ended","failure":{"cause":"no space"}}
`
	var m moments
	cause, err := m.readEvents(strings.NewReader(events))
	if err != nil || cause != "no space" || m.staged.Sub(m.began) != 20*time.Second || m.slowed != 3*time.Second || m.paused != time.Second {
		t.Errorf("%+v, %q, %v", m, cause, err)
	}
	if _, err := m.readEvents(strings.NewReader("what\n")); err == nil {
		t.Error("no error")
	}
}

func TestTable(t *testing.T) {
	var all table
	ways, err := ParseWays("da")
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ways {
		for _, d := range []time.Duration{time.Second, 3 * time.Second, 2 * time.Second} {
			all.addResult(w, result{away: d, failed: 1})
		}
	}
	var out strings.Builder
	if err := all.printTable(&out, "An update"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"An update.\n", "(a) naive", "(d) governed, from a server", "time without the member", "2.00 s (3.00 s)", "failed writes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	for _, goal := range []string{
		"(d) kept:   p99 within 10 ms and 25 ms, or 1.25 times idle: 0.00 of the limit",
		"(d) missed: no leader lost and no write failed: at worst 0 and 1",
		"(d) missed: without the member for a fifth of the naive time: 2.00 s, naive 2.00 s",
	} {
		if !strings.Contains(out.String(), goal) {
			t.Errorf("no %q in\n%s", goal, out.String())
		}
	}
	if text := shareOfMachine(1.4, 1.3); !strings.Contains(text, "1.30") {
		t.Error(text)
	}
	if _, err := ParseWays("ax"); err == nil {
		t.Error("no error for a way that does not exist")
	}
}

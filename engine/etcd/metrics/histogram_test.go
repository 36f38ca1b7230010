package metrics

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// bounds are the bucket bounds of etcd_disk_wal_fsync_duration_seconds in etcd 3.5 to 3.7:
// 1 ms doubled 13 times, and +Inf.
var bounds = func() []float64 {
	list := []float64{}
	for b := 0.001; len(list) < 14; b *= 2 {
		list = append(list, b)
	}
	return append(list, math.Inf(1))
}()

// makeHistogram returns a histogram of durations in seconds.
func makeHistogram(durations []float64) Histogram {
	h := Histogram{}
	for _, bound := range bounds {
		b := Bucket{UpperBound: bound}
		for _, d := range durations {
			if d <= bound {
				b.Count++
			}
		}
		h.Buckets = append(h.Buckets, b)
	}
	for _, d := range durations {
		h.Sum += d
	}
	return h
}

func genDurations(min int) *rapid.Generator[[]float64] {
	return rapid.SliceOfN(rapid.Float64Range(0.000001, 20), min, 200)
}

// TestQuantileKeepsTheBucket checks that the reported bucket contains the true
// quantile of the observations and the estimate.
func TestQuantileKeepsTheBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		durations := genDurations(1).Draw(t, "durations")
		q := rapid.Float64Range(0.0001, 1).Draw(t, "q")
		got, ok := makeHistogram(durations).Quantile(q)
		if !ok {
			t.Fatal("no estimate")
		}
		slices.Sort(durations)
		truth := durationOf(durations[max(int(math.Ceil(q*float64(len(durations)))), 1)-1])
		if truth < got.Low || got.High > 0 && truth > got.High {
			t.Fatalf("the truth %v is not in %+v", truth, got)
		}
		if got.Value < got.Low || got.High > 0 && got.Value > got.High || got.Observed != uint64(len(durations)) {
			t.Fatalf("%+v", got)
		}
	})
}

// TestQuantileGrows checks that a larger q never has a smaller quantile.
func TestQuantileGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := makeHistogram(genDurations(1).Draw(t, "durations"))
		q := rapid.Float64Range(0.0001, 1).Draw(t, "q")
		r := rapid.Float64Range(q, 1).Draw(t, "r")
		a, _ := h.Quantile(q)
		b, _ := h.Quantile(r)
		if a.Value > b.Value {
			t.Fatalf("%v at %v, %v at %v", a.Value, q, b.Value, r)
		}
	})
}

// TestSinceIsWhatCameAfter checks that the difference of two scrapes is the
// histogram of the observations between them, also after a restart.
func TestSinceIsWhatCameAfter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := genDurations(0).Draw(t, "before"), genDurations(0).Draw(t, "after")
		first := Counters{WALFsync: makeHistogram(before), LeaderChanges: 3, Started: 1}
		second := Counters{WALFsync: makeHistogram(append(slices.Clone(before), after...)), LeaderChanges: 5, Started: 1}
		delta := second.Since(first)
		if !slices.Equal(delta.WALFsync.Buckets, makeHistogram(after).Buckets) || delta.LeaderChanges != 2 {
			t.Fatalf("delta %+v", delta)
		}
		if _, ok := delta.WALFsync.Quantile(0.99); ok != (len(after) > 0) {
			t.Fatal("an estimate of nothing, or none of something")
		}
		restarted := Counters{WALFsync: makeHistogram(after), LeaderChanges: 4, Started: 2}
		if got := restarted.Since(first); !slices.Equal(got.WALFsync.Buckets, makeHistogram(after).Buckets) || got.LeaderChanges != 4 {
			t.Fatalf("after a restart %+v", got)
		}
		restarted.Started = 1 // the start time hides the restart; only a bucket with fewer observations can show it
		if got := restarted.Since(first).WALFsync; got.Count() > uint64(len(after)) || !got.isValid() {
			t.Fatalf("after an untold restart %+v", got)
		}
	})
}

// TestQuantileFigures compares quantiles with figures that were calculated by
// hand from the documentation of histogram_quantile.
func TestQuantileFigures(t *testing.T) {
	h := func(counts ...uint64) Histogram {
		h := Histogram{}
		for i, c := range counts {
			h.Buckets = append(h.Buckets, Bucket{[]float64{0.001, 0.002, 0.004, math.Inf(1)}[i], c})
		}
		return h
	}
	ms := func(f float64) time.Duration { return time.Duration(f * float64(time.Millisecond)) }
	for name, c := range map[string]struct {
		h    Histogram
		q    float64
		want Estimate
	}{
		"first bucket":       {h(10, 10, 10, 10), 0.5, Estimate{Value: ms(0.5), High: ms(1), Observed: 10}},
		"middle bucket":      {h(0, 4, 10, 10), 0.7, Estimate{Value: ms(3), Low: ms(2), High: ms(4), Observed: 10}},
		"upper end":          {h(0, 4, 10, 10), 1, Estimate{Value: ms(4), Low: ms(2), High: ms(4), Observed: 10}},
		"beyond all bounds":  {h(0, 0, 5, 10), 0.99, Estimate{Value: ms(4), Low: ms(4), Observed: 10}},
		"at a bucket's edge": {h(5, 5, 10, 10), 0.5, Estimate{Value: ms(1), High: ms(1), Observed: 10}},
	} {
		if got, ok := c.h.Quantile(c.q); !ok || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, c.want)
		}
	}
	for name, c := range map[string]struct {
		h Histogram
		q float64
	}{
		"nothing observed": {h(0, 0, 0, 0), 0.99}, "no buckets": {Histogram{}, 0.99},
		"only +Inf": {Histogram{Buckets: []Bucket{{math.Inf(1), 3}}}, 0.99},
		"no +Inf":   {h(1, 2, 3), 0.99}, "q 0": {h(1, 1, 1, 1), 0}, "q NaN": {h(1, 1, 1, 1), math.NaN()},
	} {
		if got, ok := c.h.Quantile(c.q); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestParseMetrics checks that Parse refuses other text than etcd's metrics
// without a panic.
func TestParseMetrics(t *testing.T) {
	const good = `# TYPE etcd_disk_wal_fsync_duration_seconds histogram
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 3
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 4
etcd_disk_wal_fsync_duration_seconds_sum 0.5
etcd_disk_wal_fsync_duration_seconds_count 4
# TYPE etcd_disk_backend_commit_duration_seconds histogram
etcd_disk_backend_commit_duration_seconds_bucket{le="+Inf"} 0
etcd_disk_backend_commit_duration_seconds_sum 0
etcd_disk_backend_commit_duration_seconds_count 0
# TYPE etcd_server_leader_changes_seen_total counter
etcd_server_leader_changes_seen_total 7
# TYPE etcd_network_peer_sent_failures_total counter
etcd_network_peer_sent_failures_total{To="1187cb7014238aa3"} 12
etcd_network_peer_sent_failures_total{To="375058774a16fc22"} 0
`
	m, err := Parse(strings.NewReader(good))
	if err != nil || m.WALFsync.Count() != 4 || m.LeaderChanges != 7 || m.BackendCommit.Count() != 0 ||
		m.FailedMessages["1187cb7014238aa3"] != 12 || len(m.FailedMessages) != 2 {
		t.Fatalf("%+v, %v", m, err)
	}
	for name, spoil := range map[string][2]string{
		"buckets count down": {"} 3\n", "} 5\n"},
		"no +Inf":            {`{le="+Inf"} 4`, `{le="9"} 4`},
		"count NaN":          {`{le="+Inf"} 4`, `{le="+Inf"} NaN`},
		"count below zero":   {`{le="+Inf"} 4`, `{le="+Inf"} -4`},
		"bound below zero":   {`{le="0.001"}`, `{le="-1"}`},
		"other type":         {"wal_fsync_duration_seconds histogram", "wal_fsync_duration_seconds counter"},
		"missing":            {"wal_fsync", "wal_other"},
		"not metrics":        {"# TYPE", "<html>"},
	} {
		if _, err := Parse(strings.NewReader(strings.Replace(good, spoil[0], spoil[1], 1))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

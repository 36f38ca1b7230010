package metrics

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math"
	"os"
	"slices"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Prometheus depends on 260 modules, too many for go.mod. So these tests compare histograms in two other ways: with
// values that Prometheus' own function returned (testdata/quantiles.json, made by testdata/quantiles.go.txt), and with
// a reference that was written from the documentation of irate and histogram_quantile, independently of the product.

// sample is a series of a histogram at one moment: the count of observations up
// to a bound.
type sample struct{ le, count float64 }

// referenceQuantile implements histogram_quantile from the documentation of
// Prometheus.
func referenceQuantile(q float64, series []sample) float64 {
	sort.Slice(series, func(i, j int) bool { return series[i].le < series[j].le })
	last := len(series) - 1
	if math.IsNaN(q) || last < 0 || !math.IsInf(series[last].le, 1) { // the highest bucket must be +Inf
		return math.NaN()
	}
	total := series[last].count
	if last == 0 || total == 0 { // fewer than two buckets, or no observations
		return math.NaN()
	}
	for i, s := range series[:last] {
		if s.count < q*total {
			continue
		}
		lower, below := 0.0, 0.0 // the lowest bucket begins at 0
		if i > 0 {
			lower, below = series[i-1].le, series[i-1].count
		}
		return lower + (s.le-lower)*(q*total-below)/(s.count-below)
	}
	return series[last-1].le // in the highest bucket: the bound of the second highest
}

// referenceIncrease returns the increase between two samples of each series, which irate divides by the time. A lower
// count is a counter reset, after which the counter began at 0. A series with only one sample is left out.
func referenceIncrease(before, after []sample) []sample {
	var out []sample
	for _, a := range after {
		for _, b := range before {
			switch {
			case a.le != b.le:
			case a.count < b.count:
				out = append(out, a)
			default:
				out = append(out, sample{a.le, a.count - b.count})
			}
		}
	}
	return out
}

func samplesOf(h Histogram) []sample {
	var out []sample
	for _, b := range h.Buckets {
		out = append(out, sample{b.UpperBound, float64(b.Count)})
	}
	return out
}

// compareQuantile fails the test unless the histogram has the quantile want. NaN means that the histogram has no
// quantile.
func compareQuantile(t interface{ Fatalf(string, ...any) }, h Histogram, q, want float64) {
	got, ok := h.Quantile(q)
	if ok == math.IsNaN(want) {
		t.Fatalf("the %v-quantile of %+v is %+v, %v; Prometheus has %v", q, h.Buckets, got, ok, want)
	}
	if ok && math.Abs(got.Value.Seconds()-want) > 1e-9+1e-12*want { // a duration has whole nanoseconds
		t.Fatalf("the %v-quantile of %+v is %v s; Prometheus has %v s", q, h.Buckets, got.Value.Seconds(), want)
	}
}

// TestQuantileVectors compares quantiles with values that Prometheus itself
// returned.
func TestQuantileVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/quantiles.json")
	if err != nil {
		t.Fatal(err)
	}
	some, none := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var v struct {
			Q      float64
			Bounds []float64
			Open   bool
			Counts []uint64
			Value  *float64
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if v.Open {
			v.Bounds = append(v.Bounds, math.Inf(1))
		}
		h, want := Histogram{}, math.NaN()
		for i, bound := range v.Bounds {
			h.Buckets = append(h.Buckets, Bucket{bound, v.Counts[i]})
		}
		if none++; v.Value != nil {
			want = *v.Value
			some, none = some+1, none-1
		}
		compareQuantile(t, h, v.Q, want)
		if reference := referenceQuantile(v.Q, samplesOf(h)); reference != want && !(math.IsNaN(reference) && math.IsNaN(want)) && math.Abs(reference-want) > 1e-12 {
			t.Fatalf("the reference has %v for %s", reference, lines.Text())
		}
	}
	if some < 100 || none < 20 {
		t.Errorf("compared %d quantiles and %d histograms without one", some, none)
	}
}

// genHistogram draws a histogram with a random part of etcd's bounds. Some histograms have only the bound +Inf or no
// observations.
func genHistogram(least []uint64) *rapid.Generator[Histogram] {
	return rapid.Custom(func(t *rapid.T) Histogram {
		h, count := Histogram{}, uint64(0)
		for i, bound := range bounds {
			if least == nil && i < len(bounds)-1 && rapid.IntRange(0, 3).Draw(t, "missing") == 0 {
				continue
			}
			more := rapid.Uint64Range(0, 1000).Draw(t, "more")
			if rapid.Bool().Draw(t, "none") {
				more = 0
			}
			if least != nil { // adds observations to earlier ones
				more += least[i]
				if i > 0 {
					more -= least[i-1]
				}
			}
			count += more
			h.Buckets = append(h.Buckets, Bucket{bound, count})
		}
		return h
	})
}

// TestQuantileReference compares the quantiles of random histograms with the reference. Some of them lack buckets, have
// only +Inf, or have no observations.
func TestQuantileReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := genHistogram(nil).Draw(t, "histogram")
		if rapid.IntRange(0, 9).Draw(t, "alone") == 0 {
			h.Buckets = h.Buckets[len(h.Buckets)-1:]
		}
		if rapid.IntRange(0, 9).Draw(t, "cut") == 0 {
			h.Buckets = h.Buckets[:len(h.Buckets)-1] // no +Inf
		}
		q := rapid.SampledFrom([]float64{0.5, 0.9, 0.99, 0.999, 1, math.NaN()}).Draw(t, "q")
		compareQuantile(t, h, q, referenceQuantile(q, samplesOf(h)))
	})
}

// TestWindowReference compares the p99 of random windows with irate and histogram_quantile. After a restart the
// counters begin at 0. Prometheus finds that out for each series alone; holdfast also knows the start time of the
// process.
func TestWindowReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := make([]uint64, len(bounds))
		before := genHistogram(least).Draw(t, "before")
		counts := make([]uint64, len(bounds))
		for i, b := range before.Buckets {
			counts[i] = b.Count
		}
		first := Counters{WALFsync: before, Started: 1, ScrapedAt: time.Unix(100, 0)}
		second := Counters{Started: 1, ScrapedAt: time.Unix(105, 0)}
		want := math.NaN()
		switch rapid.SampledFrom([]string{"more", "empty", "restart"}).Draw(t, "window") {
		case "more":
			second.WALFsync = genHistogram(counts).Draw(t, "after")
			want = referenceQuantile(0.99, referenceIncrease(samplesOf(before), samplesOf(second.WALFsync)))
		case "empty":
			second.WALFsync = Histogram{Buckets: slices.Clone(before.Buckets)}
		case "restart":
			second.WALFsync, second.Started = genHistogram(least).Draw(t, "after"), 2
			want = referenceQuantile(0.99, samplesOf(second.WALFsync))
			seen := true // every series shows the reset
			for i, b := range second.WALFsync.Buckets {
				seen = seen && b.Count < counts[i]
			}
			if own := referenceQuantile(0.99, referenceIncrease(samplesOf(before), samplesOf(second.WALFsync))); seen && own != want && !(math.IsNaN(own) && math.IsNaN(want)) { // NaN: no observations
				t.Fatalf("the reference has %v and %v", own, want)
			}
		}
		compareQuantile(t, second.Since(first).WALFsync, 0.99, want)
		point := second.P99Since(first, "etcd-0")
		if point.Window.String() != "5s" || (point.WALFsyncBucket == nil) != math.IsNaN(want) || point.BackendCommitBucket != nil {
			t.Fatalf("point %+v, want %v", point, want)
		}
	})
}

// TestHostileBounds checks that bounds that no disk has do not overflow.
func TestHostileBounds(t *testing.T) {
	h := Histogram{Buckets: []Bucket{{1e-300, 0}, {1e300, 1}, {math.Inf(1), 1}}}
	if got, ok := h.Quantile(0.99); !ok || got.Low != 0 || got.Value <= 0 || got.High < got.Value {
		t.Errorf("%+v, %v", got, ok)
	}
}

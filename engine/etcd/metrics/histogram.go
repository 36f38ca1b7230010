package metrics

import (
	"math"
	"sort"
	"time"
)

// Histogram is a Prometheus histogram of durations. The last bucket is +Inf.
type Histogram struct {
	Buckets []Bucket
	Sum     float64 // of all observations, seconds
}

// Bucket counts the observations up to a bound, including those of all smaller
// buckets.
type Bucket struct {
	UpperBound float64 // seconds
	Count      uint64
}

// Estimate is a quantile with the precision of a histogram.
type Estimate struct {
	Value    time.Duration // interpolated in the bucket
	Low      time.Duration // lower bound
	High     time.Duration // upper bound; 0: the quantile is in the +Inf bucket
	Observed uint64        // number of observations
}

func (h Histogram) isValid() bool {
	var before Bucket
	for i, b := range h.Buckets {
		if i > 0 && (b.UpperBound <= before.UpperBound || b.Count < before.Count) || math.IsNaN(b.UpperBound) || b.UpperBound <= 0 {
			return false
		}
		before = b
	}
	return math.IsInf(before.UpperBound, 1)
}

// Count returns the number of observations.
func (h Histogram) Count() uint64 {
	if len(h.Buckets) == 0 {
		return 0
	}
	return h.Buckets[len(h.Buckets)-1].Count
}

// countsSince returns the observations after earlier, a scrape of the same process. If a bucket has fewer observations
// than before, or the bounds differ, the process has restarted, and all observations of h are new.
func (h Histogram) countsSince(earlier Histogram) Histogram {
	if len(h.Buckets) != len(earlier.Buckets) {
		return h
	}
	delta := Histogram{Buckets: make([]Bucket, len(h.Buckets)), Sum: h.Sum - earlier.Sum}
	var before uint64
	for i, b := range h.Buckets {
		was := earlier.Buckets[i]
		if was.UpperBound != b.UpperBound || b.Count < was.Count || b.Count-was.Count < before {
			return h
		}
		before = b.Count - was.Count
		delta.Buckets[i] = Bucket{UpperBound: b.UpperBound, Count: before}
	}
	return delta
}

// addHistogram returns the observations of both histograms. A histogram with different bounds is from another version
// of etcd, and is ignored.
func (h Histogram) addHistogram(other Histogram) Histogram {
	if len(h.Buckets) == 0 {
		return other
	}
	if len(h.Buckets) != len(other.Buckets) {
		return h
	}
	sum := Histogram{Buckets: make([]Bucket, len(h.Buckets)), Sum: h.Sum + other.Sum}
	for i, b := range h.Buckets {
		if b.UpperBound != other.Buckets[i].UpperBound {
			return h
		}
		sum.Buckets[i] = Bucket{UpperBound: b.UpperBound, Count: b.Count + other.Buckets[i].Count}
	}
	return sum
}

// Quantile estimates the q-quantile, 0 < q <= 1, as Prometheus' histogram_quantile does: it interpolates linearly
// within a bucket, the first bucket begins at 0, and in the +Inf bucket it returns the lower bound. It returns false
// without observations, or if +Inf is the only bucket.
func (h Histogram) Quantile(q float64) (Estimate, bool) {
	last := len(h.Buckets) - 1
	if last < 1 || h.Count() == 0 || !(q > 0 && q <= 1) || !math.IsInf(h.Buckets[last].UpperBound, 1) {
		return Estimate{}, false
	}
	rank := q * float64(h.Count())
	i := sort.Search(last, func(i int) bool { return float64(h.Buckets[i].Count) >= rank })
	var low, below float64
	if i > 0 {
		low, below = h.Buckets[i-1].UpperBound, float64(h.Buckets[i-1].Count)
	}
	estimate := Estimate{Value: durationOf(low), Low: durationOf(low), Observed: h.Count()}
	if i < last {
		high := h.Buckets[i].UpperBound
		share := (rank - below) / (float64(h.Buckets[i].Count) - below)
		estimate.Value, estimate.High = durationOf(low+(high-low)*share), durationOf(high)
	}
	return estimate, true
}

// durationOf converts seconds to a duration. It returns the longest duration for larger values.
func durationOf(s float64) time.Duration {
	if ns := math.Round(s * float64(time.Second)); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

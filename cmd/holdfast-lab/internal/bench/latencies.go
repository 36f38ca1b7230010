package bench

import (
	"math"
	"time"

	"holdfast/engine/etcd/metrics"
)

// worstWindow is the length of the windows that worstLatencies compares.
const worstWindow = 10 * time.Second

// These are the disk latencies of etcd, and their number.
const (
	walFsync = iota
	backendCommit
	latencyKinds
)

// spread has quantiles of a latency. max is the upper bound of its bucket, which
// is infinite for the last bucket.
type spread struct{ p50, p99, max time.Duration }

// latencies are the spreads of both disk latencies.
type latencies [latencyKinds]spread

func (l *latencies) raiseTo(other latencies) {
	for i := range l {
		l[i].p50, l[i].p99, l[i].max = max(l[i].p50, other[i].p50), max(l[i].p99, other[i].p99), max(l[i].max, other[i].max)
	}
}

// series has the scrapes that one member has answered, oldest first.
type series []metrics.Counters

func seriesOf(samples []sample, host string) series {
	var s series
	for _, one := range samples {
		if scraped := one[host]; scraped.Err == nil && !scraped.Metrics.ScrapedAt.IsZero() {
			s = append(s, scraped.Metrics)
		}
	}
	return s
}

// scrapesBetween returns the scrapes between two times, with the last scrape before from and the
// first one after to.
func (s series) scrapesBetween(from, to time.Time) series {
	first, last := 0, len(s)
	for i, m := range s {
		if !m.ScrapedAt.After(from) {
			first = i
		}
		if m.ScrapedAt.After(to) {
			last = i + 1
			break
		}
	}
	return s[first:last]
}

func (s series) overallLatencies() latencies {
	if len(s) < 2 {
		return latencies{}
	}
	delta := s[len(s)-1].Since(s[0])
	return latencies{spreadOf(delta.WALFsync), spreadOf(delta.BackendCommit)}
}

// worstLatencies returns the highest values over all windows of length
// worstWindow.
func (s series) worstLatencies() latencies {
	worst := s.overallLatencies()
	for i := range worst {
		worst[i].p50, worst[i].p99 = 0, 0
	}
	first := 0
	for last := 1; last < len(s); last++ {
		for s[last].ScrapedAt.Sub(s[first+1].ScrapedAt) >= worstWindow {
			first++
		}
		if s[last].ScrapedAt.Sub(s[first].ScrapedAt) >= worstWindow {
			worst.raiseTo(s[first : last+1].overallLatencies())
		}
	}
	if worst[walFsync].p99 == 0 { // the series is shorter than a window
		worst.raiseTo(s.overallLatencies())
	}
	return worst
}

func spreadOf(h metrics.Histogram) spread {
	p50, _ := h.Quantile(0.5)
	p99, _ := h.Quantile(0.99)
	s := spread{p50: p50.Value, p99: p99.Value}
	switch e, ok := h.Quantile(1); {
	case !ok:
	case e.High == 0:
		s.max = math.MaxInt64
	default:
		s.max = e.High
	}
	return s
}

package bench

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd/metrics"
)

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

func (s series) measureLatencies() histograms {
	if len(s) < 2 {
		return histograms{}
	}
	delta := s[len(s)-1].Since(s[0])
	return histograms{histogramOf(delta.WALFsync), histogramOf(delta.BackendCommit)}
}

// worstP99 returns the highest p99 over all windows of length worstWindow. A
// shorter series is one window.
func (s series) worstP99() (worst [latencyKinds]engine.Duration) {
	first := 0
	for last := 1; last < len(s); last++ {
		for s[last].ScrapedAt.Sub(s[first+1].ScrapedAt) >= worstWindow {
			first++
		}
		if s[last].ScrapedAt.Sub(s[first].ScrapedAt) < worstWindow && (first > 0 || last < len(s)-1) {
			continue
		}
		for kind, h := range s[first : last+1].measureLatencies() {
			worst[kind] = max(worst[kind], engine.Duration(h.quantile(0.99).Value))
		}
	}
	return worst
}

package etcd

import (
	"context"
	"errors"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
)

// Scraped is the result of one scrape of a member.
type Scraped struct {
	Metrics Metrics
	Err     error // why there are none
}

// ScrapeAll scrapes the members on all hosts of the cluster at the same time. It takes at most Config.Timeout.
func (c *Cluster) ScrapeAll(ctx context.Context) map[string]Scraped {
	all := make([]Scraped, len(c.cfg.Peers))
	var wg conc.WaitGroup
	for i, p := range c.cfg.Peers {
		wg.Go(func() { all[i].Metrics, all[i].Err = c.Scrape(ctx, p.Host) })
	}
	wg.Wait()
	byHost := make(map[string]Scraped, len(all))
	for i, p := range c.cfg.Peers {
		byHost[p.Host] = all[i]
	}
	return byHost
}

// P99Between estimates the p99 of the disk latencies of a member between two scrapes. Its error says why there is none.
func P99Between(earlier, later Scraped, host string) (engine.LatencyPoint, error) {
	switch {
	case later.Err != nil:
		return engine.LatencyPoint{}, later.Err
	case earlier.Err != nil:
		return engine.LatencyPoint{}, earlier.Err
	case earlier.Metrics.ScrapedAt.IsZero():
		return engine.LatencyPoint{}, errors.New("it was not scraped before")
	}
	return later.Metrics.P99Since(earlier.Metrics, host), nil
}

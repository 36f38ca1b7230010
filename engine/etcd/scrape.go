package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/sourcegraph/conc/panics"

	"holdfast/engine"
	"holdfast/engine/etcd/metrics"
)

const (
	maxScrape  = 4 << 20 // bytes; etcd's metrics need a twentieth of that
	maxHeader  = 1 << 20 // bytes
	idleScrape = 30 * time.Second
)

// Scrape reads the metrics of the member on host, within Config.Timeout. It keeps the connection for the next scrape,
// so that frequent scrapes cost the member little.
func (c *Cluster) Scrape(ctx context.Context, host string) (metrics.Counters, error) {
	counters, err := c.scrapeMember(ctx, host)
	if err != nil {
		return metrics.Counters{}, c.stepError("metrics of the member on "+host, err)
	}
	return counters, nil
}

func (c *Cluster) scrapeMember(ctx context.Context, host string) (metrics.Counters, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	i := c.peerIndex(host)
	if i < 0 {
		return metrics.Counters{}, errors.New("it is not a host of the cluster")
	}
	// The address appears only in messages: the client connects to its own member, with TLS if the listener uses TLS.
	target := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.metricsPort())) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return metrics.Counters{}, err
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := c.scrapes[i].Do(request)
	if err != nil {
		return metrics.Counters{}, err
	}
	defer func() { _ = response.Body.Close() }() // the body was already read to its end
	if response.StatusCode != http.StatusOK {
		return metrics.Counters{}, fmt.Errorf("GET /metrics on port %d: %s", c.metricsPort(), response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxScrape+1))
	if err != nil {
		return metrics.Counters{}, err
	}
	if len(text) > maxScrape {
		return metrics.Counters{}, fmt.Errorf("the metrics are longer than %d MiB, so they are not from etcd", maxScrape>>20)
	}
	counters, err := metrics.Parse(bytes.NewReader(text))
	counters.ScrapedAt = time.Now()
	return counters, err
}

// newHTTPClient returns a client that connects only to the member on p, at the listener that find returns.
func newHTTPClient(p Peer, find func(context.Context) (listener, error)) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				at, err := find(ctx)
				if err != nil {
					return nil, err
				}
				return connectPeer(ctx, p, at, "http/1.1")
			},
			MaxIdleConns:           1,
			IdleConnTimeout:        idleScrape,
			MaxResponseHeaderBytes: maxHeader,
		},
	}
}

// Scraped is the result of one scrape of a member.
type Scraped struct {
	Began   time.Time // the metrics are not older
	Metrics metrics.Counters
	Err     error // reason why there are no metrics
}

// errNoAnswerYet is the error of a member whose scrape is still running.
var errNoAnswerYet = errors.New("it has not answered yet")

const (
	oldestAnswer = 10 * time.Second       // age of the oldest answer to an earlier ScrapeAll that is returned
	quickAnswer  = 500 * time.Millisecond // a scrape that took less is begun again instead of returning an older answer
)

// runningScrape is a scrape of one member. Its result may be read after done is closed.
type runningScrape struct {
	done   chan struct{}
	ended  time.Time
	result Scraped
	panics panics.Catcher
}

// ScrapeAll scrapes the members on all hosts of the cluster at the same time. It takes at most Config.Timeout. If the
// context ends earlier, ScrapeAll returns without the members that have not answered. Their scrapes continue, and the next
// ScrapeAll returns their answers, so that a slow member delays neither the others nor itself.
func (c *Cluster) ScrapeAll(ctx context.Context) map[string]Scraped {
	running := make([]*runningScrape, len(c.cfg.Peers))
	for i := range c.cfg.Peers {
		running[i] = c.beginScrape(ctx, i)
	}
	byHost := make(map[string]Scraped, len(running))
	for i, r := range running {
		byHost[c.cfg.Peers[i].Host] = c.awaitScrape(ctx, i, r)
	}
	return byHost
}

// beginScrape returns the scrape whose answer ScrapeAll returns: a running one, a slow one that has ended meanwhile, or a
// new one. After a slow one, it begins the next at once.
func (c *Cluster) beginScrape(ctx context.Context, peer int) *runningScrape {
	c.mu.Lock()
	defer c.mu.Unlock()
	earlier := c.running[peer]
	if earlier != nil && !earlier.isDone() {
		return earlier
	}
	next := &runningScrape{done: make(chan struct{}), result: Scraped{Began: time.Now()}}
	c.running[peer] = next
	go func() {
		next.panics.Try(func() {
			next.result.Metrics, next.result.Err = c.Scrape(context.WithoutCancel(ctx), c.cfg.Peers[peer].Host)
		})
		next.ended = time.Now()
		close(next.done)
	}()
	if earlier != nil && earlier.isLateAnswer() {
		return earlier
	}
	return next
}

// isLateAnswer reports whether a scrape that has ended is worth returning to a later call. A failure is not: the cause may
// be over.
func (r *runningScrape) isLateAnswer() bool {
	return r.result.Err == nil && r.ended.Sub(r.result.Began) >= quickAnswer && time.Since(r.ended) < oldestAnswer
}

func (r *runningScrape) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (c *Cluster) awaitScrape(ctx context.Context, peer int, r *runningScrape) Scraped {
	select {
	case <-r.done:
	case <-ctx.Done():
		if !r.isDone() {
			return Scraped{Began: r.result.Began, Err: errNoAnswerYet}
		}
	}
	r.panics.Repanic()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running[peer] == r {
		delete(c.running, peer)
	}
	return r.result
}

// P99Between estimates the p99 of the disk latencies of a member between two scrapes. If it cannot, its error has the
// reason.
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

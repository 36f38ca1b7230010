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
	"sync"
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

// scraper reads the metrics of the members of a cluster.
type scraper struct {
	cfg      Config
	listener metricsListener
	clients  []*http.Client // by peer

	mu      sync.Mutex
	running map[int]*runningScrape // scrapes of ScrapeAll whose answers no caller has received, by peer
}

// newScraper returns the scraper of a cluster whose members serve clients at a listener.
func newScraper(cfg Config, clients listener) *scraper {
	s := &scraper{cfg: cfg, listener: newMetricsListener(cfg, clients), running: map[int]*runningScrape{}}
	for _, p := range cfg.Peers {
		s.clients = append(s.clients, cfg.newHTTPClient(p, s.listener.findListener))
	}
	return s
}

// Close ends the connections that are kept between scrapes. The cluster can still be used afterwards.
func (s *scraper) Close() {
	for _, c := range s.clients {
		c.CloseIdleConnections()
	}
}

// Scrape reads the metrics of the member on host, within Config.Timeout. It keeps the connection for the next scrape,
// so that frequent scrapes cost the member little.
func (s *scraper) Scrape(ctx context.Context, host string) (metrics.Counters, error) {
	counters, err := s.scrapeMember(ctx, host)
	if err != nil {
		return metrics.Counters{}, s.cfg.stepError("metrics of the member on "+host, err)
	}
	return counters, nil
}

func (s *scraper) scrapeMember(ctx context.Context, host string) (metrics.Counters, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.gatherTimeout())
	defer cancel()
	i := s.cfg.peerIndex(host)
	if i < 0 {
		return metrics.Counters{}, errors.New("it is not a host of the cluster")
	}
	// The address appears only in messages: the client connects to its own member, with TLS if the listener uses TLS.
	target := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(s.cfg.metricsPort())) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return metrics.Counters{}, err
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := s.clients[i].Do(request)
	if err != nil {
		return metrics.Counters{}, err
	}
	defer func() { _ = response.Body.Close() }() // the body was already read to its end
	if response.StatusCode != http.StatusOK {
		return metrics.Counters{}, fmt.Errorf("GET /metrics on port %d: %s", s.cfg.metricsPort(), response.Status)
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

// newHTTPClient returns a client that connects only to the member on p, at the listener that find returns. The context of a connection has no
// deadline, because it outlives the request; so newHTTPClient sets one.
func (cfg Config) newHTTPClient(p Peer, find func(context.Context) (listener, error)) *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				at, err := find(ctx)
				if err != nil {
					return nil, err
				}
				ctx, cancel := context.WithTimeout(ctx, cfg.gatherTimeout())
				defer cancel()
				conn, _, err := cfg.connectPeer(ctx, p, at, "http/1.1")
				return conn, err
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
func (s *scraper) ScrapeAll(ctx context.Context) map[string]Scraped {
	running := make([]*runningScrape, len(s.cfg.Peers))
	for i := range s.cfg.Peers {
		running[i] = s.beginScrape(ctx, i)
	}
	byHost := make(map[string]Scraped, len(running))
	for i, r := range running {
		byHost[s.cfg.Peers[i].Host] = s.awaitScrape(ctx, i, r)
	}
	return byHost
}

// beginScrape returns the scrape whose answer ScrapeAll returns: a running one, a slow one that has ended meanwhile, or a
// new one. After a slow one, it begins the next at once.
func (s *scraper) beginScrape(ctx context.Context, peer int) *runningScrape {
	s.mu.Lock()
	defer s.mu.Unlock()
	earlier := s.running[peer]
	if earlier != nil && !earlier.isDone() {
		return earlier
	}
	next := &runningScrape{done: make(chan struct{}), result: Scraped{Began: time.Now()}}
	s.running[peer] = next
	go func() {
		next.panics.Try(func() {
			next.result.Metrics, next.result.Err = s.Scrape(context.WithoutCancel(ctx), s.cfg.Peers[peer].Host)
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

func (s *scraper) awaitScrape(ctx context.Context, peer int, r *runningScrape) Scraped {
	select {
	case <-r.done:
	case <-ctx.Done():
		if !r.isDone() {
			return Scraped{Began: r.result.Began, Err: errNoAnswerYet}
		}
	}
	r.panics.Repanic()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[peer] == r {
		delete(s.running, peer)
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

package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strconv"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"holdfast/engine"
)

// Metrics holds the disk latencies and leader changes of one scrape of a member.
type Metrics struct {
	WALFsync      Histogram // etcd_disk_wal_fsync_duration_seconds
	BackendCommit Histogram // etcd_disk_backend_commit_duration_seconds
	LeaderChanges uint64    // etcd_server_leader_changes_seen_total
	Started       float64   // process_start_time_seconds
	Quota         int64     // etcd_server_quota_backend_bytes; 0: not known
	ScrapedAt     time.Time // when the answer was there
}

const (
	maxScrape  = 4 << 20 // bytes; etcd's metrics need a twentieth
	maxHeader  = 1 << 20 // bytes
	idleScrape = 30 * time.Second
	stall      = 1.1 // seconds; etcd has a bucket up to 1.024
)

// Since returns the difference to an earlier scrape of the same member. If the member restarted in between, its
// counters began anew, and Since returns all of this scrape.
func (m Metrics) Since(earlier Metrics) Metrics {
	if m.Started != earlier.Started || m.LeaderChanges < earlier.LeaderChanges {
		return m
	}
	m.WALFsync = m.WALFsync.countsSince(earlier.WALFsync)
	m.BackendCommit = m.BackendCommit.countsSince(earlier.BackendCommit)
	m.LeaderChanges -= earlier.LeaderChanges
	return m
}

// P99Since estimates the p99 of the disk latencies since an earlier scrape of the same member. A histogram without
// observations has no bucket. A member that restarted in between has counted everything within the window.
func (m Metrics) P99Since(earlier Metrics, host string) engine.LatencyPoint {
	return m.Since(earlier).Latency(host, m.ScrapedAt.Sub(earlier.ScrapedAt), 0)
}

// Plus returns the observations of both.
func (m Metrics) Plus(other Metrics) Metrics {
	m.WALFsync = m.WALFsync.addHistogram(other.WALFsync)
	m.BackendCommit = m.BackendCommit.addHistogram(other.BackendCommit)
	return m
}

// Latency estimates the p99 of the disk latencies in a window, or of all but the given number of slowest observations
// if that is less. Of a metric that took a second or more, no observation is left out.
func (m Metrics) Latency(host string, window time.Duration, exceptional int) engine.LatencyPoint {
	point := engine.LatencyPoint{Host: host, Window: engine.Duration(window)}
	point.WALFsyncP99, point.WALFsyncBucket = m.WALFsync.p99InSeconds(exceptional)
	point.BackendCommitP99, point.BackendCommitBucket = m.BackendCommit.p99InSeconds(exceptional)
	return point
}

// hasStall reports whether an observation took a second or more, the time after which etcd elects another leader by
// default. A disk that stalls completes few writes, so that all of them would be exceptions.
func (h Histogram) hasStall() bool {
	var below uint64
	for _, b := range h.Buckets {
		if b.UpperBound <= stall {
			below = b.Count
		}
	}
	return h.Count() > below
}

func (h Histogram) p99InSeconds(exceptional int) (float64, *engine.LatencyBucket) {
	q := 0.99
	if count := float64(h.Count()); exceptional > 0 && count > 0 && !h.hasStall() {
		q = min(q, max(count-float64(exceptional), count/2)/count) // of a few observations, half
	}
	e, ok := h.Quantile(q)
	if !ok {
		return 0, nil
	}
	return e.Value.Seconds(), &engine.LatencyBucket{Low: e.Low.Seconds(), High: e.High.Seconds(), Observed: e.Observed}
}

// Scrape reads the metrics of the member on host, within Config.Timeout. It keeps the connection for the next scrape,
// so that watching a busy disk costs the member little.
func (c *Cluster) Scrape(ctx context.Context, host string) (Metrics, error) {
	metrics, err := c.scrapeMember(ctx, host)
	if err != nil {
		return Metrics{}, c.stepError("metrics of the member on "+host, err)
	}
	return metrics, nil
}

func (c *Cluster) scrapeMember(ctx context.Context, host string) (Metrics, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.gatherTimeout())
	defer cancel()
	i := c.peerIndex(host)
	if i < 0 {
		return Metrics{}, errors.New("it is not a host of the cluster")
	}
	// The address is for messages: the client connects to its own member, with TLS if the listener has it.
	target := "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(c.metricsPort())) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return Metrics{}, err
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := c.scrapes[i].Do(request)
	if err != nil {
		return Metrics{}, err
	}
	defer func() { _ = response.Body.Close() }() // already read to its end
	if response.StatusCode != http.StatusOK {
		return Metrics{}, fmt.Errorf("GET /metrics on port %d: %s", c.metricsPort(), response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxScrape+1))
	if err != nil {
		return Metrics{}, err
	}
	if len(text) > maxScrape {
		return Metrics{}, fmt.Errorf("the metrics are longer than %d MiB, so they are not from etcd", maxScrape>>20)
	}
	metrics, err := parseMetrics(bytes.NewReader(text))
	metrics.ScrapedAt = time.Now()
	return metrics, err
}

// newHTTPClient returns a client that connects only to the member on p, where find says that it listens.
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

func parseMetrics(text io.Reader) (Metrics, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return Metrics{}, fmt.Errorf("parse metrics: %w", err)
	}
	var metrics Metrics
	for name, into := range map[string]*Histogram{
		"etcd_disk_wal_fsync_duration_seconds":      &metrics.WALFsync,
		"etcd_disk_backend_commit_duration_seconds": &metrics.BackendCommit,
	} {
		family := families[name]
		if len(family.GetMetric()) != 1 || family.GetType() != dto.MetricType_HISTOGRAM {
			return Metrics{}, fmt.Errorf("parse metrics: no histogram %s", name)
		}
		*into = histogramOf(family.GetMetric()[0].GetHistogram())
		if !into.isValid() {
			return Metrics{}, fmt.Errorf("parse metrics: the buckets of %s are out of order or not whole numbers", name)
		}
	}
	for _, m := range families["etcd_server_leader_changes_seen_total"].GetMetric() {
		metrics.LeaderChanges = uint64(m.GetCounter().GetValue())
	}
	for _, m := range families["process_start_time_seconds"].GetMetric() {
		metrics.Started = m.GetGauge().GetValue()
	}
	for _, m := range families["etcd_server_quota_backend_bytes"].GetMetric() {
		metrics.Quota = bytesOf(m.GetGauge().GetValue())
	}
	return metrics, nil
}

// bytesOf returns a gauge as a number of bytes, or 0 if it cannot be one.
func bytesOf(gauge float64) int64 {
	if gauge > 0 && gauge < math.MaxInt64 {
		return int64(gauge)
	}
	return 0
}

// histogramOf returns a histogram, or an empty one if a count is no whole number: such counts are in fields of their own.
func histogramOf(h *dto.Histogram) Histogram {
	histogram := Histogram{Sum: h.GetSampleSum()}
	for _, b := range h.GetBucket() {
		if b.CumulativeCountFloat != nil {
			return Histogram{}
		}
		histogram.Buckets = append(histogram.Buckets, Bucket{UpperBound: b.GetUpperBound(), Count: b.GetCumulativeCount()})
	}
	return histogram
}

package etcd

import (
	"context"
	"fmt"
	"time"
)

// credentialsRetry is the pause before unreadable credentials are read again. Without it, scrapes every second would
// read them every second.
const credentialsRetry = 30 * time.Second

// metricsListener holds the listener of the members' metrics after its credentials were read. The caller that reads
// them takes the turn; the other callers wait.
type metricsListener struct {
	turn    chan struct{}
	known   *listener // nil: not known yet
	err     error     // reason why the last try failed
	triedAt time.Time
}

func newMetricsListener() metricsListener { return metricsListener{turn: make(chan struct{}, 1)} }

// findMetrics returns the listener on which the members serve their metrics. It reads credentials for that listener
// when metrics are read for the first time, so that only metrics depend on them.
func (c *Cluster) findMetrics(ctx context.Context) (listener, error) {
	set := c.cfg.Metrics
	switch {
	case set == nil:
		return c.clients, nil
	case set.TLS == nil:
		return listener{port: set.Port}, nil
	case c.cfg.TLS != nil && *set.TLS == *c.cfg.TLS:
		return listener{port: set.Port, tls: c.clients.tls}, nil
	}
	m := &c.metrics
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return listener{}, context.Cause(ctx)
	}
	if m.known == nil && (m.err == nil || time.Since(m.triedAt) > credentialsRetry) {
		credentials, err := readCredentials(ctx, c.cfg, *set.TLS)
		switch {
		case err == nil:
			m.known = &listener{port: set.Port, tls: credentials}
		case ctx.Err() != nil: // the context ended, so the next caller tries again
			return listener{}, err
		}
		m.err, m.triedAt = err, time.Now()
	}
	if m.known == nil {
		return listener{}, fmt.Errorf("read the client credentials for metrics: %w", m.err)
	}
	return *m.known, nil
}

func (c *Cluster) metricsPort() int {
	if c.cfg.Metrics == nil {
		return c.cfg.ClientPort
	}
	return c.cfg.Metrics.Port
}

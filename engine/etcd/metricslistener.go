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
	cfg     Config
	clients listener
	turn    chan struct{}
	known   *listener // nil: not known yet
	err     error     // reason why the last try failed
	triedAt time.Time
}

func newMetricsListener(cfg Config, clients listener) metricsListener {
	return metricsListener{cfg: cfg, clients: clients, turn: make(chan struct{}, 1)}
}

// findListener returns the listener on which the members serve their metrics. It reads credentials for that listener
// when metrics are read for the first time, so that only metrics depend on them.
func (m *metricsListener) findListener(ctx context.Context) (listener, error) {
	set := m.cfg.Metrics
	switch {
	case set == nil:
		return m.clients, nil
	case set.TLS == nil:
		return listener{port: set.Port}, nil
	case m.cfg.TLS != nil && *set.TLS == *m.cfg.TLS:
		return listener{port: set.Port, tls: m.clients.tls}, nil
	}
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return listener{}, context.Cause(ctx)
	}
	if m.known == nil && (m.err == nil || time.Since(m.triedAt) > credentialsRetry) {
		credentials, err := readCredentials(ctx, m.cfg, *set.TLS)
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

func (cfg Config) metricsPort() int {
	if cfg.Metrics == nil {
		return cfg.ClientPort
	}
	return cfg.Metrics.Port
}

// Package probe watches an etcd cluster from the outside. It writes a key at a
// fixed pace through all members, asks each member for its status, and reports
// the effects that clients would notice.
package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sourcegraph/conc"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Config describes the watched cluster. A zero duration means the default.
type Config struct {
	// Members lists all voters of the cluster.
	Members []Member
	// Etcd has the TLS configuration and the dialer. Its endpoints are not used.
	Etcd clientv3.Config
	// Every is the time between two writes, and between two requests to a member;
	// 50 ms by default.
	Every time.Duration
	// Timeout is the timeout of a write; 2 s by default.
	Timeout time.Duration
}

// Member is one member of the cluster, with the address for its clients.
type Member struct {
	Name, Endpoint string
}

const (
	keys          = "holdfast-lab/probe/" // each write has a key of its own
	readTimeout   = 30 * time.Second
	statusTimeout = time.Second
	defaultEvery  = 50 * time.Millisecond
	defaultWrite  = 2 * time.Second
)

// Probe is a running watch.
type Probe struct {
	config  Config
	writer  *clientv3.Client
	clients []*clientv3.Client
	cancel  context.CancelFunc
	wg      conc.WaitGroup
	started time.Time
	prefix  string // of the keys

	mu      sync.Mutex
	writes  []Write
	samples []Sample
}

// Start starts the watch. It returns after the first successful write. The caller
// must call Stop. ctx limits only the start.
func Start(ctx context.Context, c Config) (*Probe, error) {
	if c.Every == 0 {
		c.Every = defaultEvery
	}
	if c.Timeout == 0 {
		c.Timeout = defaultWrite
	}
	p := &Probe{config: c, prefix: keys + strconv.FormatInt(time.Now().UnixNano(), 10) + "/"}
	if err := p.connectClients(); err != nil {
		return nil, errors.Join(err, p.closeClients())
	}
	if _, err := p.writer.Put(ctx, p.prefix+"start", ""); err != nil {
		return nil, errors.Join(fmt.Errorf("start probe: %w", err), p.closeClients())
	}
	running, cancel := context.WithCancel(context.Background())
	p.cancel, p.started = cancel, time.Now()
	p.wg.Go(func() { p.writeAtPace(running) })
	for i, m := range c.Members {
		p.wg.Go(func() { p.watchMember(running, p.clients[i], m) })
	}
	return p, nil
}

// Stop ends the watch, waits for running writes and returns the report.
func (p *Probe) Stop() (Report, error) {
	record, err := p.StopRecord()
	return Summarize(record), err
}

// StopRecord ends the watch, waits for running writes and returns all observations.
func (p *Probe) StopRecord() (Record, error) {
	stopped := time.Now()
	p.cancel()
	p.wg.Wait()
	names := make([]string, 0, len(p.config.Members))
	for _, m := range p.config.Members {
		names = append(names, m.Name)
	}
	return Record{
		Members: names, Start: p.started, End: stopped, Writes: p.writes, Samples: p.samples,
	}, p.closeClients()
}

// LostKeys ends the writes, and returns the keys of writes that were confirmed and that the cluster does not have.
func (p *Probe) LostKeys(ctx context.Context) ([]string, error) {
	p.cancel()
	p.wg.Wait()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reply, err := p.writer.Get(ctx, p.prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("read the keys of the probe: %w", err)
	}
	found := map[string]bool{}
	for _, kv := range reply.Kvs {
		found[string(kv.Key)] = true
	}
	var lost []string
	for _, w := range p.writes {
		if w.Err == "" && !found[w.Key] {
			lost = append(lost, w.Key)
		}
	}
	return lost, nil
}

// Healthy returns how many voters have answered their last request.
func (p *Probe) Healthy() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := map[string]bool{}
	for _, s := range p.samples {
		last[s.Member] = s.Up
	}
	n := 0
	for _, up := range last {
		if up {
			n++
		}
	}
	return n
}

func (p *Probe) connectClients() (err error) {
	var endpoints []string
	for _, m := range p.config.Members {
		client, err := p.newClient(m.Endpoint)
		if err != nil {
			return err
		}
		p.clients = append(p.clients, client)
		endpoints = append(endpoints, m.Endpoint)
	}
	p.writer, err = p.newClient(endpoints...)
	return err
}

// newClient returns a client that reconnects quickly. So a member that is healthy
// again counts as healthy without delay.
func (p *Probe) newClient(endpoints ...string) (*clientv3.Client, error) {
	c := p.config.Etcd
	c.Endpoints = endpoints
	c.DialKeepAliveTime, c.DialKeepAliveTimeout = time.Second, time.Second
	c.DialOptions = append(c.DialOptions[:len(c.DialOptions):len(c.DialOptions)], grpc.WithConnectParams(grpc.ConnectParams{
		MinConnectTimeout: 300 * time.Millisecond,
		Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.2, MaxDelay: 200 * time.Millisecond},
	}))
	client, err := clientv3.New(c)
	if err != nil {
		return nil, fmt.Errorf("start probe: %w", err)
	}
	return client, nil
}

func (p *Probe) closeClients() error {
	var errs []error
	for _, c := range append(p.clients, p.writer) {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}

func (p *Probe) writeAtPace(ctx context.Context) {
	ticker := time.NewTicker(p.config.Every)
	defer ticker.Stop()
	var wg conc.WaitGroup
	defer wg.Wait()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			wg.Go(func() { p.writeOne(i) })
		}
	}
}

func (p *Probe) writeOne(i int) {
	ctx, cancel := context.WithTimeout(context.Background(), p.config.Timeout)
	defer cancel()
	w := Write{Key: p.prefix + strconv.Itoa(i), Start: time.Now()}
	_, err := p.writer.Put(ctx, w.Key, "")
	w.Took = time.Since(w.Start)
	if err != nil {
		w.Err = err.Error()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writes = append(p.writes, w)
}

func (p *Probe) watchMember(ctx context.Context, client *clientv3.Client, m Member) {
	ticker := time.NewTicker(p.config.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, statusTimeout)
		status, err := client.Status(attempt, m.Endpoint)
		cancel()
		if ctx.Err() != nil {
			return
		}
		s := Sample{At: time.Now(), Member: m.Name, Up: err == nil}
		if err == nil {
			s.Leader, s.Term = status.Leader, status.RaftTerm
		}
		p.mu.Lock()
		p.samples = append(p.samples, s)
		p.mu.Unlock()
	}
}

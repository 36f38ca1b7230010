// Package probe watches an etcd cluster from the outside. It writes a key at a
// fixed pace, reads the member list, asks each member for its status, and reports
// the effects that clients would notice. Members may come and go meanwhile.
package probe

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sourcegraph/conc"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// Config describes the watched cluster. A zero duration means the default.
type Config struct {
	// Etcd has the TLS configuration, the dialer, and the first endpoints.
	Etcd clientv3.Config
	// Fixed makes the client write only through the first endpoints. Otherwise it
	// writes through all voters that the cluster has at the moment.
	Fixed bool
	// Every is the time between two writes, and between two requests to a member;
	// 50 ms by default.
	Every time.Duration
	// Timeout is the timeout of a write; 2 s by default.
	Timeout time.Duration
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
	cancel  context.CancelFunc
	wg      conc.WaitGroup
	started time.Time
	ended   time.Time
	prefix  string        // of the keys
	leader  atomic.Uint64 // ID of the member that was last said to lead

	mu      sync.Mutex
	lists   []List
	avoided []string // names of members
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
	var err error
	if p.writer, err = p.newClient(c.Etcd.Endpoints...); err != nil {
		return nil, err
	}
	if _, err := p.writer.Put(ctx, p.prefix+"start", ""); err != nil {
		return nil, errors.Join(fmt.Errorf("start probe: %w", err), p.writer.Close())
	}
	p.started = time.Now()
	first, err := readList(ctx, p.writer)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start probe: %w", err), p.writer.Close())
	}
	p.addList(List{After: p.started, By: p.started, Members: first})
	running, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	p.wg.Go(func() { p.writeAtPace(running) })
	p.wg.Go(func() { p.followMembers(running) })
	return p, nil
}

// Stop ends the watch, waits for running writes and returns the report.
func (p *Probe) Stop() (Report, error) {
	record, err := p.StopRecord()
	return Summarize(record), err
}

// StopRecord ends the watch, waits for running writes and returns all observations.
func (p *Probe) StopRecord() (Record, error) {
	p.endWatch()
	return Record{Start: p.started, End: p.ended, Lists: p.lists, Writes: p.writes, Samples: p.samples}, p.writer.Close()
}

// endWatch waits for running writes. Only the first call has an effect.
func (p *Probe) endWatch() {
	if p.ended.IsZero() {
		p.ended = time.Now()
	}
	p.cancel()
	p.wg.Wait()
}

// LostKeys ends the watch, and returns the keys of writes that were confirmed and that the cluster does not have.
func (p *Probe) LostKeys(ctx context.Context) ([]string, error) {
	p.endWatch()
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

// newClient returns a client that reconnects quickly, so that a healthy member counts as healthy without delay.
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

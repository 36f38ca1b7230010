package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"holdfast/engine/remote/sshconfig"
)

// maxJumps bounds chains of jump hosts that have jump hosts in ssh_config
// themselves.
const maxJumps = 8

// route is a shared connection to the last of several jump hosts.
type route struct {
	ready chan struct{} // closed when host or err is set
	host  *Host
	err   error
	until time.Time // err is kept until this time
}

// routes holds the connections to jump hosts, by the hops that lead there.
type routes struct {
	mu sync.Mutex
	m  map[string]*route
}

// connect returns the connection for key. Without a connection, or after its end, connect dials; other callers wait for
// the same dial. A failure is kept for as long as the dial took (at most 10 s), so that hundreds of hosts behind a dead
// jump host do not wait one after the other. A failed login is kept for RefusalPause.
func (rs *routes) connect(ctx context.Context, key string, dial func() (*Host, error)) (*Host, error) {
	for {
		rs.mu.Lock()
		r := rs.m[key]
		if r == nil || r.isStale() {
			old := r
			r = &route{ready: make(chan struct{})}
			rs.m[key] = r
			rs.mu.Unlock()
			if old != nil && old.host != nil {
				_ = old.host.Close() // it has ended already
			}
			r.dialOnce(dial)
			return r.host, r.err
		}
		rs.mu.Unlock()
		select {
		case <-r.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		// The caller that dialed has given up, but the jump host may work.
		if kind := KindOf(r.err); (kind == Canceled || kind == Timeout) && ctx.Err() == nil {
			rs.forgetRoute(key, r)
			continue
		}
		return r.host, r.err
	}
}

func (rs *routes) forgetRoute(key string, r *route) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.m[key] == r {
		delete(rs.m, key)
	}
}

const maxFailureAge = 10 * time.Second

func (r *route) dialOnce(dial func() (*Host, error)) {
	defer close(r.ready)
	start := time.Now()
	r.host, r.err = dial()
	end := time.Now()
	age := min(end.Sub(start), maxFailureAge)
	if HasLoginFailed(r.err) {
		age = max(age, RefusalPause)
	}
	r.until = end.Add(age)
}

func (r *route) isStale() bool {
	select {
	case <-r.ready:
	default:
		return false
	}
	if r.err != nil {
		return time.Now().After(r.until)
	}
	select {
	case <-r.host.Done():
		return true
	default:
		return false
	}
}

func (rs *routes) closeAll() error {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	var errs []error
	for key, r := range rs.m {
		<-r.ready
		if r.host != nil {
			errs = append(errs, r.host.Close())
		}
		delete(rs.m, key)
	}
	return errors.Join(errs...)
}

func (l *login) jumpHostLost(err error) error {
	var refused *ssh.OpenChannelError
	if err == nil || l.via == nil || l.ctx.Err() != nil || errors.As(err, &refused) {
		return nil
	}
	if cause := l.via.endCause(); cause != nil {
		return l.via.ep.newError(Lost, "", cause, "")
	}
	return nil
}

func (d *Dialer) connectJumpHosts(ctx context.Context, t sshconfig.Target, ep endpoint) (*Host, error) {
	hops, err := d.jumpHostsTo(t, ep, 0)
	if err != nil {
		return nil, jumpHostError(ctx, ep, err)
	}
	var last *Host
	var key string
	for _, next := range hops {
		key += ">" + next.ShareKey()
		previous := last
		last, err = d.jumps.connect(ctx, key, func() (*Host, error) { return d.connectAndLogIn(ctx, next, previous) })
		if err != nil {
			return nil, jumpHostError(ctx, ep, err)
		}
	}
	return last, nil
}

// jumpHostsTo returns the jump hosts on the way to ep, in order. The first of ep.Jump may have jump hosts of its own.
// Each other one is reached through the jump host before it.
func (d *Dialer) jumpHostsTo(t sshconfig.Target, ep endpoint, depth int) ([]endpoint, error) {
	if depth > maxJumps {
		return nil, ep.newError(Config, "find the jump hosts", fmt.Errorf("more than %d jump hosts", maxJumps), "check that jump hosts do not name each other")
	}
	var hops []endpoint
	for n, h := range ep.Jump {
		next, err := d.resolveTarget(h.Target(t))
		if err != nil {
			return nil, err
		}
		if n == 0 {
			if hops, err = d.jumpHostsTo(h.Target(t), next, depth+1); err != nil {
				return nil, err
			}
		}
		hops = append(hops, next)
	}
	return hops, nil
}

func jumpHostError(ctx context.Context, ep endpoint, err error) error {
	kind := KindOf(err)
	if kind == 0 {
		kind = kindOfEnd(ctx)
	}
	return ep.newError(kind, "connect through jump host", err, "")
}

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// Dial connects to addr from the host; network is "tcp" or "unix". Unlike a plain SSH channel, the connection has
// deadlines, and Close returns at once. It has no half-close: when one side ends, the other side ends, too. The error
// is an *Error: Refused, Resolve, Unreachable (from the host), Forward, Lost, Timeout or Canceled.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := h.dialChannel(ctx, network, addr)
	if err == nil {
		return c, nil
	}
	step := "connect to " + addr + " from the host"
	var refused *ssh.OpenChannelError
	switch {
	case ctx.Err() != nil:
		return nil, h.contextError(ctx, step)
	case errors.As(err, &refused):
		kind, _ := classifyChannel(refused)
		hint := ""
		if kind == Forward {
			hint = "allow it on the host (AllowTcpForwarding, PermitOpen in sshd_config)"
		}
		return nil, h.ep.newError(kind, step, rootCause(err), hint)
	}
	return nil, h.lostError(step, err)
}

// dialChannel does the work of Dial and returns the library's errors.
func (h *Host) dialChannel(ctx context.Context, network, addr string) (net.Conn, error) {
	inner, err := h.client.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return h.newTunnel(inner, address{network, addr}, false)
}

// maxAccepted bounds the tunnels of ports that the host has not closed. Each takes about 80 KiB here.
const maxAccepted = 256

func (h *Host) newTunnel(inner net.Conn, remote net.Addr, accepted bool) (net.Conn, error) {
	near, far := net.Pipe()
	t := &tunnel{Conn: near, far: far, inner: inner, remote: remote, accepted: accepted}
	if !h.addTunnel(t) {
		h.endConnection(fmt.Errorf("the host has not closed %d connections of its ports", maxAccepted))
		return nil, net.ErrClosed
	}
	if !h.startWork(func() { t.copyBothWays(); h.removeTunnel(t) }) || !h.isAlive() {
		t.endTunnel()
		h.removeTunnel(t)
		return nil, net.ErrClosed
	}
	return t, nil
}

// addTunnel returns false if the host has too many connections.
func (h *Host) addTunnel(t *tunnel) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t.accepted {
		if h.accepted == maxAccepted {
			return false
		}
		h.accepted++
	}
	h.tunnels[t] = struct{}{}
	return true
}

func (h *Host) removeTunnel(t *tunnel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.tunnels[t]; ok && t.accepted {
		h.accepted--
	}
	delete(h.tunnels, t)
}

func (h *Host) closeTunnels() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tunnels {
		t.endTunnel()
	}
}

// Listen opens a port on the host's loopback and returns its connections; network is "tcp". addr is like "127.0.0.1:0".
// With port 0 the host chooses the port, and the listener's Addr returns it. The caller must accept connections as long
// as the listener is open, also while it closes the listener: connections that nobody accepts block Close, and the whole
// SSH connection. A host that does not answer in time, or does not close the connections of its ports, loses the SSH
// connection. The error is an *Error.
func (h *Host) Listen(ctx context.Context, network, addr string) (net.Listener, error) {
	step := "listen on " + addr + " of the host"
	name, _, err := net.SplitHostPort(addr)
	if err == nil && !isLoopback(name) {
		err = fmt.Errorf("%q is not a loopback address", name)
	}
	if err != nil {
		return nil, h.ep.newError(Config, step, err, "")
	}
	type answer struct {
		l   net.Listener
		err error
	}
	answered := make(chan answer)
	if !h.startWork(func() {
		l, err := h.requestPort(network, addr)
		select {
		case answered <- answer{l, err}:
		case <-ctx.Done():
			if err == nil {
				closeUnused(l)
			}
		}
	}) {
		return nil, h.lostError(step, errClosed)
	}
	select {
	case a := <-answered:
		if a.err != nil && !h.hasEnded(a.err) {
			return nil, h.ep.newError(Forward, step, a.err, "allow it on the host (AllowTcpForwarding in sshd_config), or check whether the port is in use")
		}
		if a.err != nil {
			return nil, h.lostError(step, a.err)
		}
		return a.l, nil
	case <-ctx.Done():
		return nil, h.contextError(ctx, step)
	}
}

// hasEnded reports whether a request failed because the connection has ended, which its requests see slightly before isAlive does.
func (h *Host) hasEnded(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || !h.isAlive()
}

func (h *Host) requestPort(network, addr string) (l net.Listener, err error) {
	h.limitAnswer("open a port", h.dialer.opts.PortTimeout, func() { l, err = h.client.Listen(network, addr) })
	if err != nil {
		return nil, err
	}
	return &listener{l, h}, nil
}

// closeFactor is how much longer a host has to close a port than to open one: the request waits behind data that are still on
// their way.
const closeFactor = 8

// limitAnswer calls ask, which waits for an answer of the host or the end of the connection. If the answer takes too long,
// it ends the connection: watchPeer does not, as long as the host sends other data.
func (h *Host) limitAnswer(request string, limit time.Duration, ask func()) {
	late := time.AfterFunc(limit, func() {
		h.endConnection(fmt.Errorf("no answer within %s to the request to %s", limit, request))
	})
	defer late.Stop()
	ask()
}

// closeUnused closes a port for which nobody waits any more.
func closeUnused(l net.Listener) {
	var accepting conc.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	})
	_ = l.Close()
	accepting.Wait()
}

func isLoopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// listener returns its connections as tunnels.
type listener struct {
	net.Listener
	host *Host
}

// Accept returns the next connection, or net.ErrClosed after the listener or the Host was closed. Until then, it accepts
// connections that it cannot return, too: otherwise they would block the end of the SSH connection.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if errors.Is(err, io.EOF) {
			return nil, net.ErrClosed
		}
		if err != nil {
			continue // the SSH connection has ended, and io.EOF follows
		}
		t, err := l.host.newTunnel(inner, inner.RemoteAddr(), true)
		if err == nil {
			return t, nil
		}
		_ = inner.Close()
	}
}

// Close closes the port on the host. Its connections stay open.
func (l *listener) Close() (err error) {
	l.host.limitAnswer("close a port", closeFactor*l.host.dialer.opts.PortTimeout, func() { err = l.Listener.Close() })
	return err
}

// tunnel is a connection inside the SSH connection. A pipe gives it deadlines, which net/http and gRPC need and SSH
// channels lack, and a Close that does not wait for the peer.
type tunnel struct {
	net.Conn // the near end of the pipe
	far      net.Conn
	inner    net.Conn // the channel
	remote   net.Addr
	accepted bool // the host has opened it
}

// RemoteAddr returns the address as the host sees it.
func (t *tunnel) RemoteAddr() net.Addr { return t.remote }

func (t *tunnel) copyBothWays() {
	var up conc.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(t.inner, t.far)
		_ = t.inner.Close()
	})
	_, _ = io.Copy(t.far, t.inner)
	_ = t.far.Close()
	_, _ = io.Copy(io.Discard, t.inner) // until the host closes its side, or its data would stay in memory
	up.Wait()
}

// endTunnel ends both directions without losing data that was read already.
func (t *tunnel) endTunnel() { _ = t.far.Close() }

type address struct{ network, text string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.text }

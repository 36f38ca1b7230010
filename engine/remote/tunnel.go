package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/sourcegraph/conc"
	"golang.org/x/crypto/ssh"
)

// Dial connects to addr from the host; network is "tcp" or "unix". Unlike a plain SSH channel the connection has deadlines, and
// Close returns at once. It has no half-close: when one side ends, so does the other. The error is an *Error: Refused, Resolve,
// Unreachable (as seen from the host), Forward, Lost, Timeout or Canceled.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := h.open(ctx, network, addr)
	if err == nil {
		return c, nil
	}
	step := "connect to " + addr + " from the host"
	var refused *ssh.OpenChannelError
	switch {
	case ctx.Err() != nil:
		return nil, h.ep.fail(endKind(ctx), step, context.Cause(ctx), "")
	case errors.As(err, &refused):
		kind, _ := classifyChannel(refused)
		hint := ""
		if kind == Forward {
			hint = "allow it on the host (AllowTcpForwarding, PermitOpen in sshd_config)"
		}
		return nil, h.ep.fail(kind, step, rootCause(err), hint)
	}
	return nil, h.lost(step, err)
}

// open is Dial with the library's errors.
func (h *Host) open(ctx context.Context, network, addr string) (net.Conn, error) {
	inner, err := h.client.DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return h.wrap(inner, address{network, addr})
}

// wrap makes a tunnel of a channel.
func (h *Host) wrap(inner net.Conn, remote net.Addr) (net.Conn, error) {
	near, far := net.Pipe()
	t := &tunnel{Conn: near, far: far, inner: inner, remote: remote}
	h.mu.Lock()
	h.tunnels[t] = struct{}{}
	h.mu.Unlock()
	if !h.spawn(func() { t.pump(); h.drop(t) }) || !h.alive() {
		t.end()
		h.drop(t)
		return nil, net.ErrClosed
	}
	return t, nil
}

func (h *Host) drop(t *tunnel) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tunnels, t)
}

func (h *Host) closeTunnels() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.tunnels {
		t.end()
	}
}

// Listen opens a port on the host's loopback and returns its connections; network is "tcp", and addr is like "127.0.0.1:0", where
// 0 lets the host choose: see the listener's Addr. Connections must be accepted as long as it is open. It has no context: a host
// that does not answer is found out by the keepalive. The error is an *Error.
func (h *Host) Listen(network, addr string) (net.Listener, error) {
	step := "listen on " + addr + " of the host"
	name, _, err := net.SplitHostPort(addr)
	if err == nil && !loopback(name) {
		err = fmt.Errorf("%q is not a loopback address", name)
	}
	if err != nil {
		return nil, h.ep.fail(Config, step, err, "")
	}
	l, err := h.client.Listen(network, addr)
	if err != nil && h.alive() {
		return nil, h.ep.fail(Forward, step, err, "allow it on the host (AllowTcpForwarding in sshd_config), or is the port taken?")
	}
	if err != nil {
		return nil, h.lost(step, err)
	}
	return &listener{Listener: l, host: h}, nil
}

func loopback(name string) bool {
	ip := net.ParseIP(name)
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// listener hands out tunnels.
type listener struct {
	net.Listener
	host *Host
}

// Accept returns the next connection; net.ErrClosed when the listener or the Host is closed.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if errors.Is(err, io.EOF) {
		return nil, net.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	return l.host.wrap(c, c.RemoteAddr())
}

// tunnel is a connection inside the SSH connection. The pipe gives it deadlines, which channels do not have and which
// net/http and gRPC rely on, and a Close that does not wait for the peer.
type tunnel struct {
	net.Conn // the near end of the pipe
	far      net.Conn
	inner    net.Conn // the channel
	remote   net.Addr
}

// RemoteAddr returns the address as the host sees it.
func (t *tunnel) RemoteAddr() net.Addr { return t.remote }

// pump copies both ways until both have ended.
func (t *tunnel) pump() {
	var up conc.WaitGroup
	up.Go(func() {
		_, _ = io.Copy(t.inner, t.far)
		_ = t.inner.Close()
	})
	_, _ = io.Copy(t.far, t.inner)
	_ = t.far.Close()
	up.Wait()
}

// end ends both ways from this side, without losing what has been read already.
func (t *tunnel) end() { _ = t.far.Close() }

type address struct{ network, text string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.text }

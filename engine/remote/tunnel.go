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
	return h.newTunnel(inner, address{network, addr})
}

func (h *Host) newTunnel(inner net.Conn, remote net.Addr) (net.Conn, error) {
	near, far := net.Pipe()
	t := &tunnel{Conn: near, far: far, inner: inner, remote: remote}
	h.mu.Lock()
	h.tunnels[t] = struct{}{}
	h.mu.Unlock()
	if !h.startWork(func() { t.copyBothWays(); h.removeTunnel(t) }) || !h.isAlive() {
		t.endTunnel()
		h.removeTunnel(t)
		return nil, net.ErrClosed
	}
	return t, nil
}

func (h *Host) removeTunnel(t *tunnel) {
	h.mu.Lock()
	defer h.mu.Unlock()
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
// SSH connection. Listen has no context: keepalives detect a host that does not answer. The error is an *Error.
func (h *Host) Listen(network, addr string) (net.Listener, error) {
	step := "listen on " + addr + " of the host"
	name, _, err := net.SplitHostPort(addr)
	if err == nil && !isLoopback(name) {
		err = fmt.Errorf("%q is not a loopback address", name)
	}
	if err != nil {
		return nil, h.ep.newError(Config, step, err, "")
	}
	l, err := h.client.Listen(network, addr)
	if err != nil && h.isAlive() {
		return nil, h.ep.newError(Forward, step, err, "allow it on the host (AllowTcpForwarding in sshd_config), or check whether the port is in use")
	}
	if err != nil {
		return nil, h.lostError(step, err)
	}
	return &listener{Listener: l, host: h}, nil
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

// Accept returns the next connection, or net.ErrClosed after the listener or the Host was closed.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if errors.Is(err, io.EOF) {
		return nil, net.ErrClosed
	}
	if err != nil {
		return nil, err
	}
	return l.host.newTunnel(c, c.RemoteAddr())
}

// tunnel is a connection inside the SSH connection. A pipe gives it deadlines, which net/http and gRPC need and SSH
// channels lack, and a Close that does not wait for the peer.
type tunnel struct {
	net.Conn // the near end of the pipe
	far      net.Conn
	inner    net.Conn // the channel
	remote   net.Addr
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
	up.Wait()
}

// endTunnel ends both directions without losing data that was read already.
func (t *tunnel) endTunnel() { _ = t.far.Close() }

type address struct{ network, text string }

func (a address) Network() string { return a.network }
func (a address) String() string  { return a.text }

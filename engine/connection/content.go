package connection

import (
	"context"
	"errors"
	"fmt"
	"net"

	"holdfast/engine/content"
	"holdfast/engine/remote"
	"holdfast/engine/rollout"
)

// ServeContents sets the server from which hosts fetch contents. Close also
// closes this server.
func (h *Hosts) ServeContents(s *content.Server) { h.contents = s }

// serveContent opens a port on the host's loopback for the content that a
// script fetches, and returns the script with that port. stop closes the port.
// For a script without content, serveContent opens no port.
//
// The content is prepared before the port is open: until somebody accepts its
// connections, any account of the host can block the whole SSH connection.
func (c conn) serveContent(ctx context.Context, s rollout.Script) (text string, stop func(), err error) {
	if s.Content == nil {
		return s.Text, func() {}, nil
	}
	if c.contents == nil {
		return "", nil, rollout.NoContent{Cause: errors.New("the site has no mirror")}
	}
	prepared, err := c.contents.PrepareTransfer(ctx, content.Transfer{Host: c.name, Step: s.Step, Content: *s.Content, Report: s.Transfer})
	switch {
	case ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case err != nil:
		return "", nil, rollout.NoContent{Cause: err}
	}
	l, err := c.host.Listen(ctx, "tcp", "127.0.0.1:0")
	switch {
	case err != nil && ctx.Err() != nil:
		return "", nil, context.Cause(ctx)
	case remote.KindOf(err) == remote.Lost:
		return "", nil, withoutHost(err)
	case err != nil:
		return "", nil, rollout.NoContent{Cause: withoutHost(err)}
	}
	port := l.Addr().(*net.TCPAddr).Port
	return fmt.Sprintf("port=%d\n%s", port, s.Text), prepared.Serve(l), nil
}

// SetRate limits the bytes per second of contents to a host, within the limits
// of the inventory. 0 removes this limit.
func (h *Hosts) SetRate(host string, bytesPerSecond int64) {
	if h.contents != nil {
		h.contents.SetRate(host, bytesPerSecond)
	}
}

package content

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxConns   = 24              // open connections of a host; ostree opens eight
	stallLimit = 2 * time.Minute // a connection on which the host reads nothing for this long is closed
)

// boundedListener accepts every connection, because SSH waits for that, and closes connections beyond maxConns. The
// data of the others keeps to the limits.
type boundedListener struct {
	net.Listener
	ctx    context.Context
	limits *limits
	host   string
	open   atomic.Int32
}

// Accept returns the next connection within maxConns.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) > maxConns {
			l.open.Add(-1)
			_ = c.Close() // the host has too many connections
			continue
		}
		return &limitedConn{Conn: c, listener: l}, nil
	}
}

// limitedConn writes no faster than the limits allow.
type limitedConn struct {
	net.Conn
	listener *boundedListener
	once     sync.Once
}

// Write writes in chunks. It writes each chunk when it is due.
func (c *limitedConn) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		part := p[:min(len(p), chunkSize)]
		if err := c.listener.limits.waitToSend(c.listener.ctx, c.listener.host, len(part)); err != nil {
			return written, err
		}
		_ = c.SetWriteDeadline(time.Now().Add(stallLimit)) // on a closed connection, Write below fails
		n, err := c.Conn.Write(part)
		written += n
		if err != nil {
			return written, err
		}
		p = p[len(part):]
	}
	return written, nil
}

// Close ends the connection.
func (c *limitedConn) Close() error {
	c.once.Do(func() { c.listener.open.Add(-1) })
	return c.Conn.Close()
}

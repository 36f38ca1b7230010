package remote

import (
	"net"
	"sync/atomic"
	"time"
)

// activeConn records when the peer last sent something.
type activeConn struct {
	net.Conn
	start    time.Time
	received atomic.Int64 // bytes
	last     atomic.Int64 // nanoseconds after start
}

func newActiveConn(c net.Conn) *activeConn { return &activeConn{Conn: c, start: time.Now()} }

// Read counts any data as a sign of life of the peer.
func (c *activeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.received.Add(int64(n))
		c.last.Store(int64(time.Since(c.start)))
	}
	return n, err
}

func (c *activeConn) silentFor() time.Duration {
	return time.Since(c.start) - time.Duration(c.last.Load())
}

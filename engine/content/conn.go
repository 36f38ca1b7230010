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
	stallLimit = 2 * time.Minute // a write that the host does not take within this time fails
)

// boundedListener accepts every connection, because SSH waits for that. It closes connections beyond maxConns at once. On
// the others, it limits the rate of the data.
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

// limitedConn writes no faster than the limits allow. It keeps the data of short
// writes until they fill a chunk, or until its caller reads or closes. So the
// header and the content of a small response are one SSH packet.
type limitedConn struct {
	net.Conn
	listener *boundedListener
	once     sync.Once

	mu     sync.Mutex
	unsent []byte // at most chunkSize
}

// Read sends the data that Write has kept, and then reads.
func (c *limitedConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	err := c.sendUnsent()
	c.mu.Unlock()
	if err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// Write sends chunks, each when the limits allow it. It keeps data that do not
// fill a chunk.
func (c *limitedConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	written := 0
	for len(c.unsent)+len(p) >= chunkSize {
		if len(c.unsent) > 0 {
			if err := c.sendUnsent(); err != nil {
				return written, err
			}
			continue
		}
		n, err := c.sendChunk(p[:chunkSize])
		written += n
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	c.unsent = append(c.unsent, p...)
	return written + len(p), nil
}

func (c *limitedConn) sendUnsent() error {
	if len(c.unsent) == 0 {
		return nil
	}
	_, err := c.sendChunk(c.unsent)
	c.unsent = c.unsent[:0]
	return err
}

func (c *limitedConn) sendChunk(p []byte) (int, error) {
	if err := c.listener.limits.waitToSend(c.listener.ctx, c.listener.host, len(p)); err != nil {
		return 0, err
	}
	_ = c.SetWriteDeadline(time.Now().Add(stallLimit)) // a closed connection fails below
	return c.Conn.Write(p)
}

// Close sends the data that Write has kept, and ends the connection. If another goroutine is
// sending, Close does not wait for it, and sends nothing.
func (c *limitedConn) Close() error {
	c.once.Do(func() { c.listener.open.Add(-1) })
	if c.mu.TryLock() {
		_ = c.sendUnsent() // the host may have gone
		c.mu.Unlock()
	}
	return c.Conn.Close()
}

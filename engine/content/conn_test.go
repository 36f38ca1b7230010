package content

import (
	"bytes"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// recordingConn keeps the writes, and has nothing to read.
type recordingConn struct {
	net.Conn
	writes [][]byte
}

func (c *recordingConn) Read([]byte) (int, error) { return 0, io.EOF }

func (c *recordingConn) Write(p []byte) (int, error) {
	c.writes = append(c.writes, slices.Clone(p))
	return len(p), nil
}

func (c *recordingConn) SetWriteDeadline(time.Time) error { return nil }
func (c *recordingConn) Close() error                     { return nil }

func newLimitedConn(t *rapid.T) (*limitedConn, *recordingConn) {
	recorded := &recordingConn{}
	return &limitedConn{Conn: recorded, listener: &boundedListener{ctx: t.Context(), limits: newLimits(0, 0), host: "h"}}, recorded
}

// TestShortWritesAreOnePacket: writes that fit in a packet are sent together when the connection reads or ends. All writes arrive in
// order, no packet is longer than a chunk, and only packets before a long write or a read are shorter.
func TestShortWritesAreOnePacket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, recorded := newLimitedConn(t)
		var want []byte
		reads, long := 0, 0
		for _, size := range rapid.SliceOf(rapid.OneOf(rapid.IntRange(0, 5000), rapid.IntRange(0, 3*chunkSize))).Draw(t, "writes") {
			data := bytes.Repeat([]byte{byte(len(want))}, size)
			n, err := c.Write(data)
			if n != size || err != nil {
				t.Fatalf("%d of %d bytes written: %v", n, size, err)
			}
			want = append(want, data...)
			if size >= chunkSize/2 {
				long++
			}
			if rapid.IntRange(0, 3).Draw(t, "read") == 0 {
				_, _ = c.Read(make([]byte, 1))
				reads++
				if got := slices.Concat(recorded.writes...); !bytes.Equal(got, want) {
					t.Fatalf("%d of %d bytes are sent when the connection reads", len(got), len(want))
				}
			}
		}
		_ = c.Close()
		if got := slices.Concat(recorded.writes...); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes sent, %d written", len(got), len(want))
		}
		for _, w := range recorded.writes {
			if len(w) == 0 || len(w) > chunkSize {
				t.Fatalf("a packet of %d bytes", len(w))
			}
		}
		if most := reads + 1 + long + 2*len(want)/chunkSize; len(recorded.writes) > most {
			t.Errorf("%d packets for %d bytes, %d reads and %d long writes", len(recorded.writes), len(want), reads, long)
		}
	})
}

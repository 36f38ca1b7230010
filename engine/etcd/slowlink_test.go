package etcd_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// delayConn returns a connection through a link that delays data by oneWay in each direction.
func delayConn(far net.Conn, oneWay time.Duration) net.Conn {
	near, link := net.Pipe()
	go copyLate(far, link, oneWay)
	go copyLate(link, far, oneWay)
	return near
}

// copyLate copies data from one end to the other with a delay. After one end is closed, it closes both.
func copyLate(to, from net.Conn, late time.Duration) {
	type parcel struct {
		due  time.Time
		data []byte
	}
	sent := make(chan parcel, 1024)
	go func() {
		defer close(sent)
		for {
			buf := make([]byte, 32<<10)
			n, err := from.Read(buf)
			sent <- parcel{time.Now().Add(late), buf[:n]}
			if err != nil {
				return
			}
		}
	}()
	for p := range sent {
		time.Sleep(time.Until(p.due)) // the delay of the link
		_, _ = to.Write(p.data)
	}
	_ = to.Close()
	_, _ = io.Copy(io.Discard, from)
}

// TestFarCluster checks that a healthy cluster behind a link of 300 ms in each direction is healthy, with the default
// timeout and the measured round trip. A configured timeout does not change with the distance.
func TestFarCluster(t *testing.T) {
	t.Parallel()
	const oneWay = 300 * time.Millisecond
	members, cfg := fakeCluster(t, "a", "b", "c")
	cfg.Timeout = 0
	for i := range cfg.Peers {
		cfg.Peers[i].Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			time.Sleep(2 * oneWay) // SSH opens the channel
			var d net.Dialer
			c, err := d.DialContext(ctx, "tcp", members[i].addr)
			if err != nil {
				return nil, err
			}
			return delayConn(c, oneWay), nil
		}
		cfg.Peers[i].RoundTrip = func() time.Duration { return 2 * oneWay }
	}
	for name, c := range map[string]struct {
		timeout time.Duration
		well    bool
	}{"by default": {0, true}, "set": {time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := cfg
			cfg.Timeout = c.timeout
			facts := openCluster(t, cfg).Gather(t.Context())
			if c.well && (facts.CountHealthy() != 3 || facts.Problem != "") {
				t.Errorf("facts %+v", facts)
			}
			if !c.well && !strings.Contains(facts.Problem, "no member answers") {
				t.Errorf("it answers within %s: %+v", c.timeout, facts)
			}
		})
	}
}

// Package serve serves the repository of the operating system to the hosts over
// HTTP, at a limited rate.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/sourcegraph/conc"
	"golang.org/x/time/rate"
)

// chunk is the number of bytes of each write, if there is a limit.
const chunk = 16 << 10

// Run serves the files below dir on address until ctx ends. bytesPerSecond is for
// all connections together; zero means no limit.
func Run(ctx context.Context, address, dir string, bytesPerSecond int) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("serve repository: %w", err)
	}
	if bytesPerSecond > 0 {
		listener = limited{listener, rate.NewLimiter(rate.Limit(bytesPerSecond), chunk)}
	}
	server := &http.Server{Handler: http.FileServer(http.Dir(dir)), ReadHeaderTimeout: 10 * time.Second}
	var wg conc.WaitGroup
	stop := context.AfterFunc(ctx, func() { wg.Go(func() { _ = server.Close() }) })
	defer wg.Wait()
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve repository: %w", err)
	}
	return nil
}

// limited is a listener whose connections share a limiter.
type limited struct {
	net.Listener
	limiter *rate.Limiter
}

func (l limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return slow{conn, l.limiter}, nil
}

// slow is a connection that waits before it writes.
type slow struct {
	net.Conn
	limiter *rate.Limiter
}

func (s slow) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		k := min(len(b), chunk)
		if err := s.limiter.WaitN(context.Background(), k); err != nil {
			return n, err
		}
		m, err := s.Conn.Write(b[:k])
		n += m
		if err != nil {
			return n, err
		}
		b = b[k:]
	}
	return n, nil
}

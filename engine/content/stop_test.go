package content_test

import (
	"net"
	"sync"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/content"
)

// busyListener gets connections until the end, like a forward of SSH whose host is busy: Close returns once these
// connections are accepted.
type busyListener struct {
	conns    chan net.Conn
	closed   chan struct{}
	close    sync.Once
	accepted chan struct{} // closed by the first Accept
	accept   sync.Once
}

func (l *busyListener) Accept() (net.Conn, error) {
	l.accept.Do(func() { close(l.accepted) })
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *busyListener) Close() error {
	l.close.Do(func() {
		for range 3 {
			near, _ := net.Pipe()
			l.conns <- near
		}
		close(l.closed)
	})
	return nil
}

func (l *busyListener) Addr() net.Addr { return &net.TCPAddr{} }

// TestStopAcceptsTheLastConnections checks that stop ends although a host connects until its port is closed.
func TestStopAcceptsTheLastConnections(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	writeFiles(t, folder, map[string]string{"config": "[core]\nmode=archive\n"})
	commit := writeEmptyCommit(t, folder)
	prepared, err := newServer(t, engine.Mirror{Repository: folder}).PrepareTransfer(t.Context(), content.Transfer{Host: "h", Content: engine.Content{Commit: commit}})
	if err != nil {
		t.Fatal(err)
	}
	l := &busyListener{conns: make(chan net.Conn), closed: make(chan struct{}), accepted: make(chan struct{})}
	stop := prepared.Serve(l)
	<-l.accepted
	ended := make(chan struct{})
	go func() {
		stop()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Fatal("the listener still waits until its connections are accepted")
	}
}

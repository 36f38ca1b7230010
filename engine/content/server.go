package content

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/event"
)

// Bounds of the requests of a host. A host sends only short headers.
const (
	maxHeader     = 16 << 10
	headerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
)

// Server serves the mirror of the bastion. It needs no cache of its own: hosts stage the same OS within minutes of each
// other, and the page cache of the bastion keeps its files, about 1 GB, for that time.
type Server struct {
	mirror  engine.Mirror
	limits  *limits
	tracker tracker

	mu     sync.Mutex
	stores map[storeKind]store // only kinds that were needed
	sizes  map[engine.Content]*expectedSize

	ctx    context.Context // done when the server is closed
	cancel context.CancelFunc
	work   conc.WaitGroup
}

// NewServer returns a server for a mirror. It opens the mirror when a host
// needs it.
func NewServer(m engine.Mirror) *Server {
	s := &Server{mirror: m, limits: newLimits(m.BytesPerSecond, m.HostBytesPerSecond), tracker: newTracker(), stores: map[storeKind]store{}, sizes: map[engine.Content]*expectedSize{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// SetRate limits the bytes per second to a host from now on, but not below 32 KiB and not above the limit of the
// inventory. A rate of 0 removes this limit. SetRate may be called at any time.
func (s *Server) SetRate(host string, bytesPerSecond int64) { s.limits.setRate(host, bytesPerSecond) }

// Close ends all work on the mirror and closes its folders.
func (s *Server) Close() error {
	s.cancel()
	s.work.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	for _, opened := range s.stores {
		err = errors.Join(err, opened.Close())
	}
	return err
}

// Transfer is the fetch of one OS by one host. If its connection is lost, further transfers continue it: they have the
// same Host and Step, and their reports count from the start of the step.
type Transfer struct {
	Host    string
	Step    int64
	Content engine.Content
	Report  func(event.Progress) // called every few seconds after the first byte, and at the end; may be nil
}

// PreparedTransfer is a transfer whose content is complete. Its listener can be opened: from then on, nothing delays its
// connections.
type PreparedTransfer struct {
	server   *Server
	host     string
	handler  http.Handler
	progress *progress
}

// PrepareTransfer finds the content of a transfer and its size, which may take seconds. It fails if the content is not
// complete, and with the cause of the context if that ends before.
func (s *Server) PrepareTransfer(ctx context.Context, t Transfer) (*PreparedTransfer, error) {
	opened, err := s.openStore(t.Content)
	if err != nil {
		return nil, err
	}
	size, err := s.findSize(ctx, opened, t.Content)
	if err != nil {
		return nil, err
	}
	p := s.tracker.beginTransfer(t)
	p.setTotal(size)
	h, err := opened.newHandler(ctx, t.Content, p)
	if err != nil {
		return nil, err
	}
	return &PreparedTransfer{server: s, host: t.Host, handler: readOnly{h}, progress: p}, nil
}

// Serve accepts connections of a listener until it is closed, and answers them until stop is called. stop closes the
// listener, and waits until the connections have ended.
func (t *PreparedTransfer) Serve(l net.Listener) (stop func()) {
	ctx, cancel := context.WithCancel(t.server.ctx)
	server := &http.Server{
		Handler: t.handler, ErrorLog: log.New(io.Discard, "", 0), // hosts must not write to the terminal of the operator
		MaxHeaderBytes: maxHeader, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	var work conc.WaitGroup
	bounded := &boundedListener{Listener: l, ctx: ctx, limits: t.server.limits, host: t.host}
	work.Go(func() { _ = server.Serve(bounded) }) // server.Serve ends with the listener
	t.progress.began = time.Now()
	work.Go(func() { t.progress.reportUntil(ctx) })
	return func() {
		cancel()
		_ = l.Close() // first, because server.Close ends the loop that accepts connections, for which a forward of SSH waits
		_ = server.Close()
		work.Wait()
		t.progress.reportEnd()
	}
}

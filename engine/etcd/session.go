package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

const (
	maxAnswer  = 4 << 20          // bytes of one message of a member
	maxMembers = 100              // of a cluster; etcd recommends 7
	maxAlarms  = 100              // that are reported
	keepAlive  = 10 * time.Second // the shortest gRPC allows
)

// session is a connection to one member. After the connection breaks, further requests fail at once, and no other
// member answers them.
type session struct {
	*clientv3.Client
	conn     *watchedConn
	loopback bool // it is to the loopback address of the host
}

func (c *Cluster) openSession(ctx context.Context, p Peer) (*session, error) {
	raw, at, err := c.cfg.connectPeer(ctx, p, c.clients, "h2")
	if err != nil {
		return nil, err
	}
	conn := &watchedConn{Conn: raw}
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{p.Host},
		Logger:               zap.NewNop(),
		MaxUnaryRetries:      1,
		MaxCallRecvMsgSize:   maxAnswer,
		DialKeepAliveTime:    keepAlive,
		DialKeepAliveTimeout: keepAlive / 2,
		DialOptions:          useOnly(conn),
	})
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	// The client's own Status dials a new connection; this client stays on its
	// connection.
	client.Maintenance = clientv3.NewMaintenanceFromMaintenanceClient(
		pb.NewMaintenanceClient(client.ActiveConnection()), client)
	return &session{Client: client, conn: conn, loopback: strings.HasPrefix(at, loopback+":")}, nil
}

func (s *session) Close() {
	_ = s.Client.Close() // returns only the error that its context was canceled
	_ = s.conn.Close()   // already closed if the client has used it
}

// watchedConn keeps the first read error, which gRPC reports only as text.
type watchedConn struct {
	net.Conn
	failed atomic.Pointer[error]
}

func (c *watchedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// lastRead bounds the wait for a TLS alert after a connection broke.
const lastRead = time.Second

// Write writes data. If the connection is broken, Write also reads from it, because a TLS alert with the reason may
// have arrived.
func (c *watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.SetReadDeadline(time.Now().Add(lastRead)) // the connection is useless from here on
		_, _ = c.Read(make([]byte, 1))                  // keeps the error
	}
	return n, err
}

func (c *watchedConn) readError() error {
	if err := c.failed.Load(); err != nil {
		return *err
	}
	return nil
}

var errBroken = errors.New("the connection broke")

// useOnly makes a gRPC client use conn and never dial another connection. If conn breaks, the client fails at once;
// without useOnly, etcd's client would wait and try again. The client needs no TLS settings, because conn already has
// TLS and presents the client's certificate.
func useOnly(conn net.Conn) []grpc.DialOption {
	var used atomic.Bool
	dial := func(context.Context, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errBroken
		}
		return conn, nil
	}
	unary := func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
		invoke grpc.UnaryInvoker, opts ...grpc.CallOption,
	) error {
		return invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(false))...)
	}
	stream := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string,
		start grpc.Streamer, opts ...grpc.CallOption,
	) (grpc.ClientStream, error) {
		return start(ctx, desc, cc, method, append(opts, grpc.WaitForReady(false))...)
	}
	return []grpc.DialOption{
		grpc.WithContextDialer(dial),
		grpc.WithChainUnaryInterceptor(unary),
		grpc.WithChainStreamInterceptor(stream),
	}
}

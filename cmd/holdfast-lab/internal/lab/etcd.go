package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/sourcegraph/conc/pool"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/probe"
	"holdfast/engine/clock"
)

// etcdTimeout limits the wait for a cluster. It is long enough for a busy
// machine.
const etcdTimeout = 2 * time.Minute

// EtcdConfig returns the configuration of a client inside the lab's network. The
// client connects to the named members of a cluster, or, without names, to all.
func (l *Lab) EtcdConfig(cluster string, members ...string) (clientv3.Config, error) {
	c, ok := l.state.Spec.Cluster(cluster)
	if !ok {
		return clientv3.Config{}, fmt.Errorf("find etcd cluster %s: the lab has no such cluster", cluster)
	}
	ca, err := l.readPair(cluster, "ca")
	if err != nil {
		return clientv3.Config{}, err
	}
	client, err := l.readPair(cluster, "client")
	if err != nil {
		return clientv3.Config{}, err
	}
	tlsConfig, err := pki.Client(append([]pki.Identity{{CA: ca.Cert, Pair: client}}, l.others...)...)
	if err != nil {
		return clientv3.Config{}, err
	}
	config := clientv3.Config{
		TLS: tlsConfig, DialTimeout: time.Second, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return l.DialContext(ctx, "tcp", address)
		})},
	}
	for _, name := range c.Hosts {
		if h, ok := l.state.Spec.Host(name); ok && (len(members) == 0 || slices.Contains(members, name)) {
			config.Endpoints = append(config.Endpoints, "https://"+h.Address()+":2379")
		}
	}
	return config, nil
}

// AddAuthority makes another CA for members of a cluster. From now on, the clients of the lab trust it and have a
// certificate from it.
func (l *Lab) AddAuthority(name string) (pki.Pair, error) {
	ca, err := pki.NewAuthority(name)
	if err != nil {
		return ca, err
	}
	client, err := ca.Issue("client")
	l.others = append(l.others, pki.Identity{CA: ca.Cert, Pair: client})
	return ca, err
}

// ForgetAuthorities removes the CAs that AddAuthority has made from the clients of the lab.
func (l *Lab) ForgetAuthorities() { l.others = nil }

// EtcdHealth returns the status of one member. It returns an error if the member
// knows no leader or cannot read.
func (h *Host) EtcdHealth(ctx context.Context) (*clientv3.StatusResponse, error) {
	config, err := h.lab.EtcdConfig(h.Cluster, h.Name)
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("reach etcd on %s: %w", h.Name, err)
	}
	defer func() { _ = client.Close() }()
	status, err := client.Status(ctx, config.Endpoints[0])
	if err != nil {
		return nil, fmt.Errorf("ask etcd on %s: %w", h.Name, err)
	}
	if status.Leader == 0 {
		return status, fmt.Errorf("ask etcd on %s: it knows no leader", h.Name)
	}
	if _, err := client.Get(ctx, "health"); err != nil {
		return status, fmt.Errorf("read from etcd on %s: %w", h.Name, err)
	}
	return status, nil
}

// WaitEtcd waits until etcd on the host is healthy. It returns early if the host has ended.
func (h *Host) WaitEtcd(ctx context.Context) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		_, err := h.EtcdHealth(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if err := h.checkPower(ctx); err != nil {
			return fmt.Errorf("wait for %s: %w", h.Name, err)
		}
		if pauseErr := clock.Sleep(ctx, 100*time.Millisecond); pauseErr != nil {
			return errors.Join(err, pauseErr)
		}
	}
}

func (l *Lab) waitEtcd(ctx context.Context, hosts []*Host) error {
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	p := pool.New().WithErrors()
	for _, h := range hosts {
		if h.Cluster != "" {
			p.Go(func() error { return h.WaitEtcd(ctx) })
		}
	}
	return p.Wait()
}

// Probe starts to watch a cluster from inside the lab's network. The client writes through the named members, or,
// without names, through the voters that the cluster has at the moment.
func (l *Lab) Probe(ctx context.Context, cluster string, members ...string) (*probe.Probe, error) {
	config, err := l.EtcdConfig(cluster, members...)
	if err != nil {
		return nil, err
	}
	return probe.Start(ctx, probe.Config{Etcd: config, Fixed: len(members) > 0})
}

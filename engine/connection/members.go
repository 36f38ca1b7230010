package connection

import (
	"context"
	"fmt"
	"time"

	"holdfast/engine/etcd"
)

// Members is a cluster whose members change. Its credentials may not exist yet, and a run may replace them.
type Members struct {
	clusters *Clusters
	name     string
}

// Members returns a cluster by its name, without connecting to it.
func (c *Clusters) Members(name string) Members { return Members{c, name} }

// Members returns the member list. It does not ask etcd on the hosts in without. If the cluster cannot be opened, for example
// because it has no credentials yet, the list is empty, as if no member answered.
func (m Members) Members(ctx context.Context, without ...string) etcd.MemberList {
	cluster, err := m.clusters.Open(ctx, m.name)
	if err != nil {
		return etcd.MemberList{}
	}
	return cluster.Members(ctx, without...)
}

func (m Members) do(ctx context.Context, do func(*etcd.Cluster) error) error {
	cluster, err := m.clusters.Open(ctx, m.name)
	if err != nil {
		return err
	}
	return do(cluster)
}

// AddLearner adds a learner that other members reach at a URL.
func (m Members) AddLearner(ctx context.Context, peerURL string) error {
	return m.do(ctx, func(c *etcd.Cluster) error { return c.AddLearner(ctx, peerURL) })
}

// Promote makes a learner a voter.
func (m Members) Promote(ctx context.Context, member string) error {
	return m.do(ctx, func(c *etcd.Cluster) error { return c.Promote(ctx, member) })
}

// RemoveMember removes a member.
func (m Members) RemoveMember(ctx context.Context, member string) error {
	return m.do(ctx, func(c *etcd.Cluster) error { return c.RemoveMember(ctx, member) })
}

// FailedMessages returns how many messages the member on a host could not send to another member.
func (m Members) FailedMessages(ctx context.Context, host, member string) (failed uint64, err error) {
	err = m.do(ctx, func(c *etcd.Cluster) error {
		failed, err = c.FailedMessages(ctx, host, member)
		return err
	})
	return failed, err
}

// MoveLeader moves leadership off a host.
func (m Members) MoveLeader(ctx context.Context, host string) (to string, err error) {
	return m.clusters.MoveLeader(ctx, m.name, host)
}

// Revision returns the revision of the member on a host.
func (m Members) Revision(ctx context.Context, host string) (revision int64, err error) {
	err = m.do(ctx, func(c *etcd.Cluster) error {
		revision, err = c.Revision(ctx, host)
		return err
	})
	return revision, err
}

// Endpoints returns the client URLs of the voters.
func (m Members) Endpoints(ctx context.Context) (urls []string, err error) {
	err = m.do(ctx, func(c *etcd.Cluster) error {
		endpoints, err := c.Endpoints(ctx)
		urls = endpoints.URLs
		return err
	})
	return urls, err
}

// CheckPorts connects from a host to peer URLs. Without URLs it needs no credentials, because a new cluster has neither.
func (m Members) CheckPorts(ctx context.Context, host string, urls []string) error {
	if len(urls) == 0 {
		return nil
	}
	return m.do(ctx, func(c *etcd.Cluster) error { return c.CheckPorts(ctx, host, urls) })
}

// reachTime lets a connection that is not answered be tried four times.
const reachTime = 10 * time.Second

// CheckReach connects from a host to an address. Nothing need listen there. An error means that the host does not reach
// the address. If known is false, the result is unknown.
func (m Members) CheckReach(ctx context.Context, from, address string) (known bool, err error) {
	host, ok := m.clusters.inv.Host(from)
	if !ok {
		return false, fmt.Errorf("%q is not a host of the inventory", from)
	}
	c, err := m.clusters.hosts.connectMember(ctx, host)
	if err != nil {
		return false, err
	}
	known, err = c.CheckReach(ctx, address, reachTime)
	return known, withoutHost(err)
}

// Forget closes the connections. The next connection reads the credentials from the hosts again.
func (m Members) Forget() { m.clusters.forgetCluster(m.name) }

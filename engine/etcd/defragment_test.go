package etcd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/etcdfacts"
)

// leaveHoles fills the database of all members and deletes the data again.
// Before it returns, member has applied all of this.
func leaveHoles(t *testing.T, cluster *etcdtest.Cluster, member *etcdtest.Member) {
	t.Helper()
	raw, ctx := cluster.Client(t), etcdtest.Context(t)
	raw.SetEndpoints(fmt.Sprintf("http://%s:%d", member.Address, cluster.ClientPort))
	var revision int64
	for i := range 20 {
		said, err := raw.Put(ctx, fmt.Sprint("hole-", i), strings.Repeat("x", 512<<10))
		if err != nil {
			t.Fatal(err)
		}
		revision = said.Header.Revision
	}
	if _, err := raw.Delete(ctx, "hole-", clientv3.WithPrefix()); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Compact(ctx, revision+1, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
}

func sizeOn(t *testing.T, client *etcd.Cluster, host string) int64 {
	t.Helper()
	facts := gatherUntil(t, client, func(f etcdfacts.ClusterFacts) bool { return f.CountHealthy() == len(f.Members) && f.Problem == "" })
	return findMember(t, facts, host).DBBytes
}

// TestDefragment checks that Defragment returns the number of bytes that the
// member's database lost, that it changes no other database, and that it
// refuses the leader.
func TestDefragment(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	client := openCluster(t, newConfig(cluster))
	leader, follower, other := cluster.Leader(t), (*etcdtest.Member)(nil), (*etcdtest.Member)(nil)
	for _, m := range cluster.Members {
		if m != leader {
			follower, other = m, follower
		}
	}
	leaveHoles(t, cluster, follower)
	was, others := sizeOn(t, client, follower.Host), sizeOn(t, client, other.Host)

	freed, err := client.Defragment(t.Context(), follower.Host)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.AwaitMember(etcdtest.Context(t), follower.Host, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if is := sizeOn(t, client, follower.Host); was < 8<<20 || is > 1<<20 || freed != was-is {
		t.Errorf("%d bytes before, %d after, %d freed", was, is, freed)
	}
	if is := sizeOn(t, client, other.Host); is < others {
		t.Errorf("%s was defragmented as well: %d bytes before, %d after", other.Host, others, is)
	}

	was = sizeOn(t, client, leader.Host)
	_, err = client.Defragment(t.Context(), leader.Host)
	if err == nil {
		t.Fatal("the leader was asked")
	}
	checkText(t, err.Error(), "etcd cluster main: defragment the member on "+leader.Host+": it leads 3 voters", "move the leader to another first")
	if is := sizeOn(t, client, leader.Host); is < was {
		t.Errorf("the leader was defragmented: %d bytes before, %d after", was, is)
	}
	_, err = client.Defragment(t.Context(), "etcd-9")
	if err == nil {
		t.Fatal("defragmented a host of another cluster")
	}
	checkText(t, err.Error(), "etcd-9 is not a host of the cluster")
}

// TestDefragmentAlone checks that Defragment accepts the only voter, and that
// after a lost answer its error says that the member may still be busy.
func TestDefragmentAlone(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	leaveHoles(t, cluster, cluster.Members[0])

	var sent atomic.Bool
	cut := openCluster(t, newConfig(cluster, func(c *etcd.Config) {
		dial := c.Peers[0].Dial
		c.Peers[0].Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return asking{conn, &sent, &bytes.Buffer{}}, err
		}
	}))
	_, err := cut.Defragment(t.Context(), "etcd-0")
	if err == nil || !sent.Load() {
		t.Fatalf("it was asked: %v, and answered: %v", sent.Load(), err)
	}
	checkText(t, err.Error(), "it may still be busy")

	client := openCluster(t, newConfig(cluster))
	if err := client.AwaitMember(etcdtest.Context(t), "etcd-0", func(string) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Defragment(t.Context(), "etcd-0"); err != nil {
		t.Fatal(err)
	}
	if is := sizeOn(t, client, "etcd-0"); is > 1<<20 {
		t.Errorf("%d bytes are left", is)
	}

	ended, end := context.WithCancelCause(t.Context())
	end(errors.New("over"))
	if _, err := client.Defragment(ended, "etcd-0"); err == nil {
		t.Error("defragmented although the context has ended")
	}
}

// asking is a connection that is lost when the client requests the
// defragmentation. That is its fourth request, after two for the status and one
// for the member list.
type asking struct {
	net.Conn
	sent  *atomic.Bool
	wrote *bytes.Buffer
}

func (a asking) Write(p []byte) (int, error) {
	n, err := a.Conn.Write(p)
	a.wrote.Write(p[:n])
	if countCalls(a.wrote.Bytes()) >= 4 {
		a.sent.Store(true)
	}
	return n, err
}

func (a asking) Read(p []byte) (int, error) {
	n, err := a.Conn.Read(p)
	if a.sent.Load() {
		return 0, net.ErrClosed
	}
	return n, err
}

// countCalls counts the HEADERS frames of an HTTP/2 client. Each call has one
// (RFC 9113, sections 3.4 and 4.1).
func countCalls(sent []byte) int {
	const preface, header, headers = 24, 9, 1
	n := 0
	for at := preface; at+header <= len(sent); {
		if sent[at+3] == headers {
			n++
		}
		at += header + int(sent[at])<<16 + int(sent[at+1])<<8 + int(sent[at+2])
	}
	return n
}

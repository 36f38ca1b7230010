package change_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/etcdtest"
)

// TestOpenSnapshot: a snapshot that holdfast saved is opened; one that is cut, damaged, or something else is refused with the
// reason.
func TestOpenSnapshot(t *testing.T) {
	t.Parallel()
	real := etcdtest.Start(t, 1, etcdtest.Options{})
	reply, err := real.Client(t).Put(etcdtest.Context(t), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "good.db")
	m := real.Members[0]
	cluster, err := etcd.Open(context.Background(), etcd.Config{
		Name: "main", ClientPort: real.ClientPort, Timeout: 30 * time.Second,
		Peers: []etcd.Peer{{Host: m.Host, Address: m.Address, Dial: m.Dial, ReadFiles: m.ReadFiles}},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := cluster.Snapshot(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := change.OpenSnapshot(path)
	if err != nil || got.SHA256 != info.SHA256 || got.Size != info.Bytes || got.Contents.Revision != reply.Header.Revision || len(got.Contents.Members) != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 1
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"cut":          {whole[:len(whole)-1000], "it is cut off"},
		"without hash": {whole[:len(whole)-32], "it is cut off"},
		"damaged":      {damaged, "its hash does not match: it is damaged"},
		"text":         {[]byte("no snapshot"), "it is not a database of etcd"},
		"empty":        {nil, "it is not a database of etcd"},
	} {
		bad := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".db")
		if err := os.WriteFile(bad, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := change.OpenSnapshot(bad); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

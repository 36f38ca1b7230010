package database_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/etcdtest"
)

func compare(t *testing.T, a, b []byte) database.Relation {
	t.Helper()
	open := func(file []byte) database.File {
		return database.File{Data: bytes.NewReader(file), Size: int64(len(file))}
	}
	relation, err := database.Compare(open(a), open(b))
	if err != nil {
		t.Fatal(err)
	}
	if other, err := database.Compare(open(b), open(a)); err != nil || other != relation {
		t.Errorf("the order of the databases matters: %v and %v, %v", relation, other, err)
	}
	return relation
}

// TestCompare checks that an earlier state of a cluster is told from another cluster with the same keys, also after the
// cluster was compacted.
func TestCompare(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	client, ctx := cluster.Client(t), etcdtest.Context(t)
	put := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			if _, err := client.Put(ctx, fmt.Sprint("key", i), fmt.Sprint("value", i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	stop := func(i int) []byte {
		t.Helper()
		cluster.Members[i].Stop()
		file, err := os.ReadFile(filepath.Join(cluster.Members[i].Dir(), "member", "snap", "db"))
		if err != nil {
			t.Fatal(err)
		}
		return file
	}
	put(0, 300)
	early := stop(2)
	put(300, 400)
	late := stop(1)
	if got := compare(t, early, late); got != database.Alike {
		t.Errorf("two states of one cluster: %v", got)
	}
	if got := compare(t, late, late); got != database.Alike {
		t.Errorf("the same state: %v", got)
	}
	other, _ := readReal(t, 700)
	if got := compare(t, early, other); got != database.Unlike {
		t.Errorf("another cluster with the same keys: %v", got)
	}
	empty, _ := readReal(t, 0)
	if got := compare(t, empty, late); got != database.Unproven {
		t.Errorf("a cluster in which nothing was written: %v", got)
	}
}

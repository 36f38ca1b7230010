package database_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"holdfast/engine/etcd/database"
	"holdfast/engine/etcd/etcdtest"
)

// realDatabase is the database of a stopped member with its contents.
type realDatabase struct {
	file []byte
	want database.Contents
}

// realDatabases has the databases by their number of keys. Starting a member takes longer than all else in these tests.
var (
	realDatabases = map[int]realDatabase{}
	realLock      sync.Mutex
)

// readReal returns the database of a stopped member, and the name, ID and last revision of that member. The caller may change
// the file.
func readReal(t *testing.T, keys int) (file []byte, want database.Contents) {
	t.Helper()
	realLock.Lock()
	defer realLock.Unlock()
	made, ok := realDatabases[keys]
	if !ok {
		made.file, made.want = makeReal(t, keys)
		realDatabases[keys] = made
	}
	return bytes.Clone(made.file), made.want
}

func makeReal(t *testing.T, keys int) (file []byte, want database.Contents) {
	t.Helper()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	client, ctx, member := cluster.Client(t), etcdtest.Context(t), cluster.Members[0]
	for i := range keys {
		reply, err := client.Put(ctx, fmt.Sprint("key", i), strings.Repeat("v", 900))
		if err != nil {
			t.Fatal(err)
		}
		want.Revision = reply.Header.Revision
	}
	want.Members = []database.Member{{ID: strconv.FormatUint(member.ID(), 16), Name: member.Name}}
	member.Stop()
	file, err := os.ReadFile(filepath.Join(member.Dir(), "member", "snap", "db"))
	if err != nil {
		t.Fatal(err)
	}
	return file, want
}

// TestReadReal reads databases of real members: one with a single leaf, and one
// with a tree of pages.
func TestReadReal(t *testing.T) {
	t.Parallel()
	for _, keys := range []int{1, 700} {
		file, want := readReal(t, keys)
		got, err := database.Read(bytes.NewReader(file), int64(len(file)))
		if err != nil || got.Revision != want.Revision || len(got.Members) != 1 || got.Members[0].ID != want.Members[0].ID ||
			got.Members[0].Name != want.Members[0].Name || len(got.Members[0].PeerURLs) != 1 || got.Members[0].Learner {
			t.Errorf("%d keys: %+v, %v, want %+v", keys, got, err, want)
		}
	}
}

// TestReadCut checks that Read returns either an error or the true contents for a file that is cut anywhere, and never
// panics.
func TestReadCut(t *testing.T) {
	t.Parallel()
	file, want := readReal(t, 5)
	for n := 0; n < min(len(file), 200_000); n += 509 {
		if got, err := database.Read(bytes.NewReader(file[:n]), int64(n)); err == nil && got.Revision != want.Revision {
			t.Errorf("the first %d bytes: %+v", n, got)
		}
	}
	for _, text := range []string{"", "no database", strings.Repeat("no database at all, but long enough for its pages\n", 1000)} {
		if got, err := database.Read(strings.NewReader(text), int64(len(text))); err == nil {
			t.Errorf("%.10q: %+v", text, got)
		}
	}
}

// changing is a database that changes its state with each read of its first
// page.
type changing struct{ states [][]byte }

func (c *changing) ReadAt(p []byte, offset int64) (int, error) {
	state := c.states[0]
	if offset == 0 && len(c.states) > 1 {
		c.states = c.states[1:]
	}
	return bytes.NewReader(state).ReadAt(p, offset)
}

// Offsets of fields in the first two pages of a database, from the beginning of
// the page.
const (
	rootAt = 16 + 16
	txAt   = 16 + 48
	sumAt  = 16 + 56
)

// pageSize is the size of bbolt's pages: the page size of the machine.
var pageSize = os.Getpagesize()

// setState writes the number of the last transaction and the root into one of the two states of a database.
func setState(file []byte, number int, tx, root uint64) {
	page := file[number*pageSize:]
	binary.LittleEndian.PutUint64(page[txAt:], tx)
	binary.LittleEndian.PutUint64(page[rootAt:], root)
	sum := fnv.New64a()
	_, _ = sum.Write(page[16:sumAt])
	binary.LittleEndian.PutUint64(page[sumAt:], sum.Sum64())
}

// lastState returns the newer state of a database: its number and its root.
func lastState(file []byte) (number int, root uint64) {
	tx := func(n int) uint64 { return binary.LittleEndian.Uint64(file[n*pageSize+txAt:]) }
	if tx(1) > tx(0) {
		number = 1
	}
	return number, binary.LittleEndian.Uint64(file[number*pageSize+rootAt:])
}

// TestReadNewerState checks that Read uses the newer one of the two states of a
// database.
func TestReadNewerState(t *testing.T) {
	t.Parallel()
	file, want := readReal(t, 5)
	number, root := lastState(file)
	for newer := range 2 {
		setState(file, number, 7, root)
		setState(file, 1-number, 6, 0) // no database can be read without a root
		if newer != number {
			setState(file, newer, 7, root)
			setState(file, number, 6, 0)
		}
		if got, err := database.Read(bytes.NewReader(file), int64(len(file))); err != nil || got.Revision != want.Revision {
			t.Errorf("the newer state is number %d: %+v, %v", newer, got, err)
		}
	}
}

// TestReadWhileChanging checks that Read never mixes parts of two states of a
// database.
func TestReadWhileChanging(t *testing.T) {
	t.Parallel()
	file, want := readReal(t, 5)
	number, root := lastState(file)
	setState(file, 1-number, 1, 0) // a slow member writes many states
	old := bytes.Clone(file)
	setState(file, number, 9, root)
	setState(old, number, 8, 0) // the pages of that state already have other contents
	setState(old, 1-number, 7, 0)
	got, err := database.Read(&changing{states: [][]byte{old, file}}, int64(len(file)))
	if err != nil || got.Revision != want.Revision {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	var states [][]byte
	for tx := range uint64(20) {
		state := bytes.Clone(file)
		setState(state, number, 10+tx, root)
		states = append(states, state)
	}
	if got, err := database.Read(&changing{states: states}, int64(len(file))); err == nil || !strings.Contains(err.Error(), "it changes all the time") {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzRead checks that Read never panics and always ends.
func FuzzRead(f *testing.F) {
	f.Add([]byte("no database"))
	f.Fuzz(func(_ *testing.T, file []byte) {
		_, _ = database.Read(bytes.NewReader(file), int64(len(file)))
	})
}

// flipper reads a file with one byte changed.
type flipper struct {
	file []byte
	at   int
	mask byte
}

func (f flipper) ReadAt(p []byte, offset int64) (int, error) {
	n, err := bytes.NewReader(f.file).ReadAt(p, offset)
	if i := int64(f.at) - offset; i >= 0 && i < int64(n) {
		p[i] ^= f.mask
	}
	if err == io.EOF && n == len(p) {
		err = nil
	}
	return n, err
}

// TestReadDamaged changes each byte of the two states and of the first elements of the root. Read must not panic, and
// must not read beyond a page.
func TestReadDamaged(t *testing.T) {
	t.Parallel()
	file, _ := readReal(t, 60)
	_, root := lastState(file)
	for _, page := range []int{0, 1, int(root)} {
		for at := range 256 {
			for _, mask := range []byte{0x01, 0x40, 0x80, 0xff} {
				_, _ = database.Read(flipper{file, page*pageSize + at, mask}, int64(len(file)))
			}
		}
	}
}

// TestReadLies checks that Read does not trust the host. A host can report any size for its file and any revision for
// its database; Read must not panic, and no sum of revisions may overflow.
func TestReadLies(t *testing.T) {
	t.Parallel()
	file, want := readReal(t, 5)
	for _, size := range []int64{-1, math.MinInt64, 0, 1, math.MaxInt64} {
		if got, err := database.Read(bytes.NewReader(file), size); err == nil && got.Revision != want.Revision {
			t.Errorf("%d bytes: %+v", size, got)
		}
	}
	last := func(revision int64) []byte {
		return append(binary.BigEndian.AppendUint64(nil, uint64(revision)), '_')
	}
	lie := bytes.ReplaceAll(file, last(want.Revision), last(1<<62))
	if got, err := database.Read(bytes.NewReader(lie), int64(len(lie))); err == nil {
		t.Errorf("%+v", got)
	}
}

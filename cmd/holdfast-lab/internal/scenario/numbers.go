package scenario

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/sourcegraph/conc"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// numbers writes numbered keys to a cluster, one after the other, until the
// cluster is lost. It notes each confirmed write with its revision. So a
// scenario knows which writes a restore must keep.
type numbers struct {
	client *clientv3.Client
	prefix string
	cancel context.CancelFunc
	wg     conc.WaitGroup

	mu        sync.Mutex
	confirmed []numberedWrite
	failed    int
	lastErr   error
}

// numberedWrite is a confirmed write.
type numberedWrite struct {
	key          string
	revision     int64
	began, ended time.Time
}

const (
	numberPause     = 10 * time.Millisecond
	numberTimeout   = time.Second
	numbersReadTime = 30 * time.Second
)

// cmdNumbers starts and ends the writer, waits until more writes are confirmed,
// and compares the restored cluster with the notes.
func cmdNumbers(ts *testscript.TestScript, neg bool, args []string) {
	const usage = "usage: numbers begin|end CLUSTER; numbers more CLUSTER COUNT; numbers check CLUSTER FILE [lost=N] [within=DURATION] [time=DURATION]"
	if neg || len(args) < 2 {
		ts.Fatalf(usage)
	}
	s := stageOf(ts)
	n := s.numbers[args[1]]
	if args[0] != "begin" && n == nil {
		ts.Fatalf("nobody writes numbers to %s", args[1])
	}
	switch {
	case args[0] == "begin" && len(args) == 2:
		ts.Check(s.beginNumbers(args[1]))
	case args[0] == "end" && len(args) == 2:
		ts.Check(n.endWrites())
	case args[0] == "more" && len(args) == 3:
		ts.Check(s.waitForNumbers(n, int(parseNumber(ts, args[2]))))
	case args[0] == "check" && len(args) > 2:
		s.checkNumbers(ts, args[1:])
	default:
		ts.Fatalf(usage)
	}
}

func (s *stage) beginNumbers(cluster string) error {
	if n := s.numbers[cluster]; n != nil {
		if err := n.endWrites(); err != nil {
			return err
		}
	}
	config, err := s.Lab.EtcdConfig(cluster)
	if err != nil {
		return err
	}
	client, err := clientv3.New(config)
	if err != nil {
		return fmt.Errorf("begin numbers: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &numbers{client: client, cancel: cancel, prefix: fmt.Sprintf("holdfast-lab/numbers/%d/", time.Now().UnixNano())}
	s.numbers[cluster] = n
	n.wg.Go(func() { n.writeAll(ctx) })
	return s.waitForNumbers(n, 1)
}

// endWrites ends the writes. It may be called again.
func (n *numbers) endWrites() error {
	if n.client == nil {
		return nil
	}
	n.cancel()
	n.wg.Wait()
	err := n.client.Close()
	n.client = nil
	return err
}

func (n *numbers) writeAll(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		n.writeNumber(ctx, n.prefix+strconv.Itoa(i))
		select {
		case <-ctx.Done():
		case <-time.After(numberPause):
		}
	}
}

func (n *numbers) writeNumber(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, numberTimeout)
	defer cancel()
	w := numberedWrite{key: key, began: time.Now()}
	reply, err := n.client.Put(ctx, key, key)
	w.ended = time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	if err != nil {
		n.failed, n.lastErr = n.failed+1, err
		return
	}
	w.revision = reply.Header.Revision
	n.confirmed = append(n.confirmed, w)
}

func (n *numbers) countWrites() (confirmed int, lastErr error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.confirmed), n.lastErr
}

func (s *stage) waitForNumbers(n *numbers, more int) error {
	before, _ := n.countWrites()
	return s.waitUntilOK(time.Minute, func() error {
		now, lastErr := n.countWrites()
		if now < before+more {
			return errors.Join(fmt.Errorf("%d more writes are confirmed, not %d", now-before, more), lastErr)
		}
		return nil
	})
}

// checkNumbers demands that the restored cluster has the confirmed writes that
// holdfast has promised in the output in a file, and no others.
func (s *stage) checkNumbers(ts *testscript.TestScript, args []string) {
	n := s.numbers[args[0]]
	ts.Check(n.endWrites())
	said, err := readSaidLoss(ts.ReadFile(args[1]))
	ts.Check(err)
	demand, err := parseNumbersDemand(args[2:])
	ts.Check(err)
	config, err := s.Lab.EtcdConfig(args[0])
	ts.Check(err)
	found, err := readNumbers(s.ctx, config, n.prefix)
	ts.Check(err)
	loss, err := said.compareNumbers(n.confirmed, found)
	ts.Logf("%s; %d writes were not confirmed\n%s", loss, n.failed, said)
	ts.Check(err)
	ts.Check(demand.checkLoss(loss, said))
}

// readNumbers returns the revisions of the keys with the prefix.
func readNumbers(ctx context.Context, config clientv3.Config, prefix string) (map[string]int64, error) {
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("read numbers: %w", err)
	}
	defer func() { _ = client.Close() }() // it only reads
	ctx, cancel := context.WithTimeout(ctx, numbersReadTime)
	defer cancel()
	reply, err := client.Get(ctx, prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, fmt.Errorf("read numbers: %w", err)
	}
	found := map[string]int64{}
	for _, kv := range reply.Kvs {
		if string(kv.Value) == string(kv.Key) {
			found[string(kv.Key)] = kv.ModRevision
		}
	}
	return found, nil
}

package etcd

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"holdfast/engine/etcd/metrics"
)

// TestOnlyAnswersComeLate checks the scrape of an earlier call that has ended meanwhile: a slow answer is returned, but not
// an old one, one that was quick, or a failure. Then the member is scraped again, which fails here.
func TestOnlyAnswersComeLate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		took, ago  time.Duration
		err        error
		isReturned bool
	}{
		{"slow", 2 * time.Second, time.Second, nil, true},
		{"quick", 100 * time.Millisecond, time.Second, nil, false},
		{"old", 2 * time.Second, time.Minute, nil, false},
		{"failed", 2 * time.Second, time.Second, errors.New("time is up"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dial := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no route to host") }
			cluster, err := Open(t.Context(), Config{Name: "main", ClientPort: 2379, Peers: []Peer{{Host: "etcd-0", Dial: dial}}})
			if err != nil {
				t.Fatal(err)
			}
			ended := time.Now().Add(-c.ago)
			earlier := &runningScrape{done: make(chan struct{}), ended: ended, result: Scraped{Began: ended.Add(-c.took), Metrics: metrics.Counters{LeaderChanges: 7}, Err: c.err}}
			close(earlier.done)
			cluster.running[0] = earlier
			got := cluster.ScrapeAll(t.Context())["etcd-0"]
			if got.Err == nil != c.isReturned || got.Err != nil && !strings.Contains(got.Err.Error(), "no route to host") {
				t.Errorf("%+v", got)
			}
		})
	}
}

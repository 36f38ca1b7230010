package bench

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/etcd"
)

const (
	scrapeEvery   = time.Second
	scrapeTimeout = 5 * time.Second
)

// sample has the metrics of all members at one moment.
type sample map[string]etcd.Scraped

// meter scrapes the members each second.
type meter struct {
	cancel  context.CancelFunc
	work    conc.WaitGroup
	samples []sample
}

// startMeter starts to scrape. The caller must call stopScraping.
func startMeter(ctx context.Context, l *lab.Lab) (*meter, error) {
	credentials := filepath.Join(l.Dir(), "pki", cluster)
	config := etcd.Config{
		Name: cluster, ClientPort: 2379, Timeout: scrapeTimeout,
		TLS: &engine.TLS{CA: "ca.crt", Cert: "client.crt", Key: "client.key"},
	}
	for _, h := range l.Hosts() {
		config.Peers = append(config.Peers, etcd.Peer{
			Host: h.Name, Address: h.Address(),
			Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				return l.DialContext(ctx, network, net.JoinHostPort(h.Address(), port))
			},
			ReadFiles: func(_ context.Context, paths ...string) ([][]byte, error) {
				files := make([][]byte, len(paths))
				for i, path := range paths {
					var err error
					if files[i], err = os.ReadFile(filepath.Join(credentials, path)); err != nil {
						return nil, err
					}
				}
				return files, nil
			},
		})
	}
	members, err := etcd.Open(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open etcd: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	m := &meter{cancel: cancel}
	m.work.Go(func() {
		defer members.Close()
		for {
			m.samples = append(m.samples, members.ScrapeAll(ctx))
			if clock.Sleep(ctx, scrapeEvery) != nil {
				return
			}
		}
	})
	return m, nil
}

func (m *meter) stopScraping() []sample {
	m.cancel()
	m.work.Wait()
	return m.samples
}

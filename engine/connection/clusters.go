package connection

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdfast/engine"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/metrics"
	"holdfast/engine/etcd/snapshot"
	"holdfast/engine/etcdfacts"
	"holdfast/engine/event"
	"holdfast/engine/governor"
	"holdfast/engine/journal"
)

// Clusters connects to each etcd cluster at its first use.
type Clusters struct {
	inv   engine.Inventory
	hosts *Hosts
	dir   string // folder of the journals; snapshots go below it unless the inventory names a folder
	run   string

	mu   sync.Mutex // guards the maps; never held during a request
	open map[string]*clusterSlot
	last map[string]metrics.Counters // previous metrics, by host
}

// clusterSlot has the connection of one cluster. The first caller opens the
// connection, and the others wait.
type clusterSlot struct {
	turn    chan struct{}
	cluster *etcd.Cluster // nil: not open yet
}

// NewClusters returns the clusters of an inventory without open connections.
// Snapshots have the name of the run.
func NewClusters(inv engine.Inventory, hosts *Hosts, dir, run string) *Clusters {
	return &Clusters{inv: inv, hosts: hosts, dir: dir, run: run, open: map[string]*clusterSlot{}, last: map[string]metrics.Counters{}}
}

// Open returns the connection to a cluster, and opens it if necessary.
func (c *Clusters) Open(ctx context.Context, name string) (*etcd.Cluster, error) {
	o := c.clusterSlot(name)
	select {
	case o.turn <- struct{}{}:
		defer func() { <-o.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if o.cluster != nil {
		return o.cluster, nil
	}
	var err error
	o.cluster, err = c.openCluster(ctx, name)
	return o.cluster, err
}

// forgetCluster closes the connection to a cluster. The next connection reads the credentials again.
func (c *Clusters) forgetCluster(name string) {
	o := c.clusterSlot(name)
	o.turn <- struct{}{}
	defer func() { <-o.turn }()
	if o.cluster != nil {
		o.cluster.Close()
		o.cluster = nil
	}
}

func (c *Clusters) clusterSlot(name string) *clusterSlot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[name] == nil {
		c.open[name] = &clusterSlot{turn: make(chan struct{}, 1)}
	}
	return c.open[name]
}

func (c *Clusters) openCluster(ctx context.Context, name string) (*etcd.Cluster, error) {
	spec, ok := c.inv.Cluster(name)
	if !ok {
		return nil, fmt.Errorf("no etcd cluster %q in the inventory", name)
	}
	cfg := etcd.Config{Name: name, ClientPort: spec.ClientPort, TLS: spec.TLS, Metrics: spec.Metrics, Timeout: time.Duration(spec.Timeout)}
	if cfg.Managed = spec.Managed != nil; cfg.Managed {
		cfg.Unit = spec.Managed.Unit
	}
	cfg.NewestCredentials = spec.Managed != nil && spec.Managed.CA != nil
	for _, h := range c.inv.Members(name) {
		cfg.Peers = append(cfg.Peers, etcd.Peer{
			Host: h.Name, Address: h.Address, Retired: h.Retired, Dial: c.hosts.dialFrom(h), ReadFiles: c.hosts.readFiles(h), RunScript: c.hosts.runAsRoot(h),
			RoundTrip: func() time.Duration { return c.hosts.roundTrip(h) },
		})
	}
	c.hosts.measureRoundTrips(ctx, c.inv.StayingMembers(name))
	return etcd.Open(ctx, cfg)
}

// Gather gathers the facts of a cluster. The facts include any failure.
func (c *Clusters) Gather(ctx context.Context, name string) etcdfacts.ClusterFacts {
	cluster, err := c.Open(ctx, name)
	if err != nil {
		return etcdfacts.ClusterFacts{Name: name, Problem: err.Error()}
	}
	return cluster.Gather(ctx)
}

// MoveLeader moves leadership off a host.
func (c *Clusters) MoveLeader(ctx context.Context, name, host string) (string, error) {
	cluster, err := c.Open(ctx, name)
	if err != nil {
		return "", err
	}
	return cluster.MoveLeader(ctx, host)
}

// AwaitMember waits until the member on a host is healthy again.
func (c *Clusters) AwaitMember(ctx context.Context, name, host string, tell func(string)) error {
	cluster, err := c.Open(ctx, name)
	if err != nil {
		return err
	}
	return cluster.AwaitMember(ctx, host, tell)
}

// Snapshot saves the data of a cluster, and removes the snapshots of earlier
// runs that the settings do not keep.
func (c *Clusters) Snapshot(ctx context.Context, name string) (string, error) {
	cluster, err := c.Open(ctx, name)
	if err != nil {
		return "", err
	}
	spec, _ := c.inv.Cluster(name)
	settings := spec.Snapshots.WithDefaults()
	dir := c.snapshotFolder(spec)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for snapshots: %w", err)
	}
	info, err := cluster.Snapshot(ctx, filepath.Join(dir, snapshot.Name(c.run, name)))
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%s (%.1f MB, sha256 checked, from %s)", info.Path, float64(info.Bytes)/1e6, info.Host)
	removed, err := snapshot.Prune(dir, name, snapshot.Retention{
		Keep: settings.Keep, MaxAge: time.Duration(settings.MaxAge), Now: time.Now(),
		IsOver: func(run string) bool { return run != c.run && journal.IsOver(c.dir, run) },
	})
	switch {
	case err != nil:
		text += "; older snapshots could not be removed: " + err.Error()
	case removed > 0:
		text += fmt.Sprintf("; %d older removed", removed)
	}
	return text, nil
}

func (c *Clusters) snapshotFolder(spec engine.Cluster) string {
	return filepath.Join(cmp.Or(spec.Snapshots.Folder, filepath.Join(c.dir, "snapshots")), c.inv.Site)
}

// ListSnapshots returns the paths of the snapshots of a cluster that runs have saved, the newest first.
func (c *Clusters) ListSnapshots(name string) ([]string, error) {
	spec, _ := c.inv.Cluster(name)
	return snapshot.List(c.snapshotFolder(spec), name)
}

// LineagePath returns the path of the record of restores of a cluster, which is beside its snapshots.
func (c *Clusters) LineagePath(name string) string {
	spec, _ := c.inv.Cluster(name)
	return filepath.Join(c.snapshotFolder(spec), name+".lineage")
}

// Sample gathers the facts of a cluster, and measures the disk latency of its
// members since the previous sample.
func (c *Clusters) Sample(ctx context.Context, name string) event.Sample {
	facts := c.Gather(ctx, name)
	sample := event.NewSample(facts)
	cluster, err := c.Open(ctx, name)
	if err != nil {
		sample.Problems = append(sample.Problems, err.Error())
		return sample
	}
	for _, m := range facts.Members {
		if !m.Healthy {
			continue
		}
		switch point, ok, err := c.measureLatency(ctx, cluster, m.Host); {
		case err != nil:
			sample.Problems = append(sample.Problems, m.Name+": measure its disk: "+err.Error())
		case ok:
			sample.Latency = append(sample.Latency, point)
		}
	}
	return sample
}

// ScrapeMembers reads the metrics of every member in the inventory whose host stays at the site. When the
// context ends, the members that have not answered have a problem, and their
// answers are returned by the next call.
func (c *Clusters) ScrapeMembers(ctx context.Context, name string) []governor.Scrape {
	members := c.inv.StayingMembers(name)
	scrapes := make([]governor.Scrape, len(members))
	var all map[string]etcd.Scraped
	cluster, err := c.Open(ctx, name)
	if err == nil {
		all = cluster.ScrapeAll(ctx)
	}
	for i, m := range members {
		scrapes[i].Host = m.Name
		switch scraped := all[m.Name]; {
		case err != nil:
			scrapes[i].Problem = err.Error()
		case scraped.Err != nil:
			scrapes[i].Problem = scraped.Err.Error()
		default:
			scrapes[i].Counters, scrapes[i].Began = counters{metrics: scraped.Metrics}, scraped.Began
		}
	}
	return scrapes
}

func (c *Clusters) measureLatency(ctx context.Context, cluster *etcd.Cluster, host string) (point engine.LatencyPoint, ok bool, err error) {
	now, err := cluster.Scrape(ctx, host)
	if err != nil {
		return engine.LatencyPoint{}, false, err
	}
	c.mu.Lock()
	before, seen := c.last[host]
	c.last[host] = now
	c.mu.Unlock()
	if !seen {
		return engine.LatencyPoint{}, false, nil
	}
	point = now.P99Since(before, host)
	return point, point.WALFsyncBucket != nil || point.BackendCommitBucket != nil, nil
}

// Defragment frees the unused space of a member's database.
func (c *Clusters) Defragment(ctx context.Context, name, host string) (int64, error) {
	cluster, err := c.Open(ctx, name)
	if err != nil {
		return 0, err
	}
	return cluster.Defragment(ctx, host)
}

// Package bench measures, in several ways, how an OS update of one etcd member
// affects the cluster, on real hosts with equal, slow disks.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

const cluster = "main"

// membersHCL describes the hosts: only three members.
const membersHCL = `
etcd_cluster "main" {}
pool "etcd" {}
hosts "etcd" {
  range        = "0-2"
  pool         = "etcd"
  etcd_cluster = "main"
}
`

// Bench is one series of measurements.
type Bench struct {
	Lab    *lab.Lab
	Binary string // path of holdfast
	Out    io.Writer
	Logs   string // folder for the events and latencies of each run; "": they are not kept

	Ways  []Way
	Runs  int   // number of runs of each way
	Bytes int64 // size of the update
	Speed disk.Speed
}

// Run brings up a new lab for each run, and prints the table at the end. If a run
// fails, Run prints the error and continues with the next run.
func (b *Bench) Run(ctx context.Context) error {
	members, err := spec.Parse("members.hcl", []byte(membersHCL))
	if err != nil {
		return err
	}
	if err := b.Lab.Up(ctx, members, lab.Options{}); err != nil {
		return err
	}
	commit, err := b.commitUpdate(ctx)
	if err != nil {
		return err
	}
	if b.Logs != "" {
		if err := os.MkdirAll(b.Logs, 0o755); err != nil {
			return fmt.Errorf("make folder for events: %w", err)
		}
	}
	var t table
	var failures []error
	for n := range b.Runs {
		for _, way := range b.Ways {
			r, err := b.measureOnce(ctx, update{bench: b, way: way, commit: commit, number: n + 1})
			if ctx.Err() != nil {
				return errors.Join(t.printTable(b.Out, b.tableTitle()), ctx.Err())
			}
			if err != nil {
				err = fmt.Errorf("way (%s), run %d: %w", way.Letter, n+1, err)
				fmt.Fprintln(b.Out, err)
				failures = append(failures, err)
				continue
			}
			fmt.Fprintf(b.Out, "(%s) run %d: %s\n", way.Letter, n+1, r)
			t.addResult(way, r)
		}
	}
	return errors.Join(append(failures, t.printTable(b.Out, b.tableTitle()))...)
}

func (b *Bench) tableTitle() string {
	return fmt.Sprintf("An update of %d MiB of one of three etcd members (the leader), disks of %d MB/s and %d IOPS; medians, and the worst of %d runs",
		b.Bytes>>20, b.Speed.BytesPerSecond/1e6, b.Speed.IOPS, b.Runs)
}

func (b *Bench) commitUpdate(ctx context.Context) (string, error) {
	version := fmt.Sprintf("bench-%dM", b.Bytes>>20)
	versions, err := b.Lab.Versions()
	if err != nil {
		return "", err
	}
	for _, v := range versions {
		if v.Version == version {
			return v.Commit, nil
		}
	}
	return b.Lab.Commit(ctx, version, image.MixedFiles(b.Bytes))
}

func (b *Bench) measureOnce(ctx context.Context, u update) (result, error) {
	var err error
	if err = b.Lab.Reset(ctx); err != nil {
		return result{}, err
	}
	for _, h := range b.Lab.Hosts() {
		if err := h.Slow(ctx, b.Speed); err != nil {
			return result{}, err
		}
	}
	if u.host, err = b.findLeader(ctx); err != nil {
		return result{}, err
	}
	if err := u.writeInventory(); err != nil {
		return result{}, err
	}
	p, err := b.Lab.Probe(ctx, cluster)
	if err != nil {
		return result{}, err
	}
	meter, err := startMeter(ctx, b.Lab)
	if err != nil {
		_, stopErr := p.StopRecord()
		return result{}, errors.Join(err, stopErr)
	}
	m, runErr := u.measureIdleAndRun(ctx)
	samples := meter.stopScraping()
	record, err := p.StopRecord()
	if err := errors.Join(runErr, err, u.logLatencies(samples)); err != nil {
		return result{}, err
	}
	return summarizeResult(u, m, samples, record), nil
}

func (u update) measureIdleAndRun(ctx context.Context) (m moments, err error) {
	if err := lab.Sleep(ctx, settleTime); err != nil {
		return m, err
	}
	m.idleBegan = time.Now()
	if m.taken, err = measureTaken(ctx, idleTime); err != nil {
		return m, err
	}
	return m, u.updateHost(ctx, &m)
}

const (
	settleTime = 5 * time.Second  // wait after the boot
	idleTime   = 20 * time.Second // duration of the measurement before the update
)

func (b *Bench) findLeader(ctx context.Context) (*lab.Host, error) {
	for _, h := range b.Lab.Hosts() {
		status, err := h.EtcdHealth(ctx)
		if err == nil && status.Header.MemberId == status.Leader {
			return h, nil
		}
	}
	return nil, errors.New("find the leader: no member is one")
}

func (b *Bench) inventoryPath() string { return filepath.Join(b.Lab.Site(), "bench.hcl") }

// Package bench measures, in several ways, how an OS update of one etcd member
// affects the cluster, on real hosts with equal, slow disks.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine"
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
	Settings
	Lab     *lab.Lab
	Binary  string // path of holdfast
	Out     io.Writer
	Results *Results

	commit string // the update
}

// Run measures all runs that the results do not have yet, each on new hosts, and
// prints the tables of all results at the end, also if ctx ends before. A failed
// run does not end the series.
func (b *Bench) Run(ctx context.Context) error {
	done, err := b.Results.readRuns()
	if err != nil {
		return err
	}
	missing := b.listMissing(done)
	fmt.Fprintf(b.Out, "results in %s; %d runs, of which %d are there; the others take about %s\n", b.Results.Dir, len(b.listRuns()), len(b.listRuns())-len(missing), formatEstimate(estimateTime(missing, done)))
	if len(missing) > 0 {
		if err := b.bringUp(ctx); err != nil {
			return err
		}
	}
	err = b.measureAll(ctx, missing, done, b.measureOnce)
	return errors.Join(err, PrintTables(b.Out, b.Results), b.Results.Close())
}

// PrintTables prints the tables of all results, without measuring anything, and
// names files that the bench did not write to their end.
func PrintTables(to io.Writer, results *Results) error {
	runs, err := results.readRuns()
	if err != nil {
		return err
	}
	for _, file := range results.cut {
		fmt.Fprintf(to, "%s: the last line is incomplete and does not count; if its run is missing, --resume %s measures it again\n", file, results.Dir)
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintf(to, "%s has no results of runs; --resume %s measures them\n", results.Dir, results.Dir)
		return err
	}
	return printTables(to, runs)
}

func (b *Bench) bringUp(ctx context.Context) error {
	members, err := spec.Parse("members.hcl", []byte(membersHCL))
	if err != nil {
		return err
	}
	err = b.Lab.Up(ctx, members, lab.Options{})
	if err != nil && ctx.Err() == nil {
		err = b.Lab.Up(ctx, members, lab.Options{}) // a host may fail to boot once
	}
	if err != nil {
		return err
	}
	b.commit, err = b.commitUpdate(ctx)
	return err
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
	return b.Lab.Commit(ctx, version, image.Changes{Payload: image.MixedFiles(b.Bytes)})
}

// mostNotBegun is the number of runs in a row that may fail before their staging
// begins.
const mostNotBegun = 3

// measureAll measures all missing runs, and writes each to the results.
func (b *Bench) measureAll(ctx context.Context, missing []key, done []run, measure func(context.Context, key) (run, error)) error {
	failed, notBegun := 0, 0
	for i, k := range missing {
		r, err := measureTwice(ctx, func() (run, error) { return measure(ctx, k) })
		if ctx.Err() != nil {
			return fmt.Errorf("%w; continue with --resume %s", ctx.Err(), b.Results.Dir)
		}
		if err := errors.Join(err, b.Results.appendRun(r)); err != nil {
			return err
		}
		state := ""
		if r.Failed != "" {
			state, failed = "failed: ", failed+1
		}
		done = addRun(done, r)
		fmt.Fprintf(b.Out, "%s: %s%s\n  it took %s; %d runs are left, about %s\n", k, state, r, formatEstimate(time.Duration(r.Took)), len(missing)-i-1, formatEstimate(estimateTime(missing[i+1:], done)))
		if notBegun++; !r.Unmeasured {
			notBegun = 0
		}
		if notBegun == mostNotBegun {
			return fmt.Errorf("%d runs in a row did not begin, so the lab does not work; mend it and continue with --resume %s", notBegun, b.Results.Dir)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d %w", failed, errFailedRuns)
	}
	return nil
}

// measureTwice repeats a run that failed before its staging began, once.
func measureTwice(ctx context.Context, measure func() (run, error)) (run, error) {
	r, err := measure()
	if err != nil || !r.Unmeasured || ctx.Err() != nil {
		return r, err
	}
	cause := r.Failed
	r, err = measure()
	r.Repeated = cause
	return r, err
}

func (b *Bench) measureOnce(ctx context.Context, k key) (run, error) {
	r := run{key: k, Began: time.Now()}
	u := &update{bench: b, key: k, way: wayOf(k.Way)}
	m, err := u.measureUpdate(ctx)
	r.Took = engine.Duration(time.Since(r.Began))
	r.noteFailure(m.moments, err)
	if r.Unmeasured {
		return r, nil
	}
	r.Host = u.host.Name
	r.addFigures(m, b.hostNames())
	return r, u.writeLogs(m)
}

// noteFailure also records whether the run failed before its staging began.
func (r *run) noteFailure(m moments, err error) {
	if err == nil {
		return
	}
	r.Failed, r.Failure, r.Unmeasured = err.Error(), failedOtherwise, !m.updateBegan
	switch {
	case m.stopped == engine.StopDeadline || m.stopped == "" && errors.Is(err, context.DeadlineExceeded):
		r.Failure = failedByDeadline
	case m.stopped != "":
		r.Failure = failedByAbort
	}
}

func (b *Bench) hostNames() []string {
	var names []string
	for _, h := range b.Lab.Hosts() {
		names = append(names, h.Name)
	}
	return names
}

func (b *Bench) findLeader(ctx context.Context) (*lab.Host, error) {
	for _, h := range b.Lab.Hosts() {
		status, err := h.EtcdHealth(ctx)
		if err == nil && status.Header.MemberId == status.Leader {
			return h, nil
		}
	}
	return nil, errors.New("find the leader: no member is one")
}

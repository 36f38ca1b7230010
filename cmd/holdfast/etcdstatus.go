package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/clock"
	"holdfast/engine/planner"
	"holdfast/engine/report"
	"holdfast/engine/report/live"
	"holdfast/engine/report/tables"
	"holdfast/engine/wire"
)

// etcdStatusFlags are the flags of etcd status.
type etcdStatusFlags struct {
	window time.Duration
	watch  bool
}

// The default and the limits of --window. A shorter window has too few
// observations for a p99.
const (
	defaultWindow = 5 * time.Second
	minWindow     = time.Second
	maxWindow     = 10 * time.Minute
)

func (a *app) etcdStatusCommand() *cobra.Command {
	var f etcdStatusFlags
	cmd := &cobra.Command{
		Use:   "status [CLUSTER…]",
		Short: "Members, health, leader, quorum, database and disk latency",
		Long: `status asks every member, through an SSH tunnel to its host, for a linearizable
read, its state and its metrics. The p99 of WAL fsyncs and backend commits are
estimates from etcd's histograms, over the time between two scrapes (--window);
each p99 is exact only to its bucket. With --watch, status refreshes after each
window until you press Ctrl-C: in place on a terminal, else below.

Exit status 0: nothing is wrong with any cluster; 3: a member is not healthy or
does not vote, or there is an alarm or another problem. With --watch, it is about
the last refresh.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.etcdStatus(cmd.Context(), args, f) },
	}
	cmd.Flags().DurationVar(&f.window, "window", defaultWindow, "`DURATION` between the two scrapes of the metrics; 0: measure no latency")
	cmd.Flags().BoolVarP(&f.watch, "watch", "w", false, "refresh after each window, until Ctrl-C")
	return cmd
}

func (f etcdStatusFlags) checkWindow() error {
	switch {
	case f.watch && f.window == 0:
		return errors.New("etcd status: --watch refreshes after each window; --window must be at least 1s")
	case f.window != 0 && (f.window < minWindow || f.window > maxWindow):
		return fmt.Errorf("etcd status: --window must be 0, or between %s and %s, not %s", engine.Duration(minWindow).Trimmed(), engine.Duration(maxWindow).Trimmed(), f.window)
	}
	return nil
}

func (a *app) etcdStatus(ctx context.Context, names []string, f etcdStatusFlags) error {
	if err := f.checkWindow(); err != nil {
		return err
	}
	if len(names) > 0 && a.limit != "" {
		return errors.New("etcd status: name clusters, or select them by their hosts with --limit, not both")
	}
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	if names, err = s.selectClusters(names); err != nil {
		return err
	}
	a.warnOfHooks(s)
	if f.watch {
		a.gently(true) // with --watch, Ctrl-C is the normal end
		ctx = a.soft
	}
	view := a.newEtcdView(s, f.watch)
	defer view.close()
	meter := s.clusters.NewMeter(names, f.window > 0)
	measured := meter.Begin(ctx)
	verdict := engine.Verdict{Exit: engine.ExitStopped} // until the first answer
	for {
		if measured || f.watch {
			_ = clock.Real{}.Sleep(ctx, f.window) // an error of the context is checked below
		}
		clusters := meter.Read(ctx)
		if ctx.Err() != nil {
			break
		}
		verdict = engine.ClustersVerdict(clusters)
		if err := view.show(clusters); err != nil {
			return err
		}
		if !f.watch {
			break
		}
	}
	return exitWith(verdict.Exit)
}

// selectClusters returns, without names, the clusters that have a host within --limit.
func (s *site) selectClusters(names []string) ([]string, error) {
	for _, n := range names {
		if _, ok := s.inv.Cluster(n); !ok {
			return nil, fmt.Errorf("no etcd cluster %q in the inventory", n)
		}
	}
	if len(s.inv.Clusters) == 0 {
		return nil, errors.New("etcd status: the inventory has no etcd cluster")
	}
	concerned := planner.ClustersConcerned(planner.Input{Request: planner.Request{Inventory: s.inv, Selected: s.selectFn}})
	if len(names) > 0 {
		concerned = nil
		for _, c := range s.inv.Clusters {
			if slices.Contains(names, c.Name) {
				concerned = append(concerned, c.Name)
			}
		}
	}
	if len(concerned) == 0 {
		return nil, errors.New("etcd status: no host within the limit is a member of an etcd cluster")
	}
	return concerned, nil
}

// etcdView shows etcd clusters, once or repeatedly.
type etcdView struct {
	show  func([]engine.ClusterStatus) error
	close func()
}

func (a *app) newEtcdView(s *site, watch bool) etcdView {
	style := a.outputStyle()
	write := func(w io.Writer, clusters []engine.ClusterStatus) error {
		return tables.WriteEtcdStatus(w, clusters, style)
	}
	view := etcdView{close: func() {}}
	switch {
	case a.json && watch:
		view.show = func(clusters []engine.ClusterStatus) error { return wire.WriteJSONLine(a.stdout, clusters) }
	case a.json:
		view.show = func(clusters []engine.ClusterStatus) error { return a.printJSON(clusters) }
	case watch && isLiveTerminal(a.stdout):
		block := live.NewBlock(a.stdout)
		view.close = block.Close
		view.show = func(clusters []engine.ClusterStatus) error {
			var b bytes.Buffer
			err := errors.Join(writeTime(&b, clusters), write(&b, clusters))
			block.Show(b.String())
			return err
		}
	case watch:
		view.show = func(clusters []engine.ClusterStatus) error {
			var b bytes.Buffer // one write for each block, so that readers get it whole
			err := errors.Join(writeTime(&b, clusters), write(&b, clusters))
			fmt.Fprintln(&b)
			_, failed := b.WriteTo(a.stdout)
			return errors.Join(err, failed)
		}
	default:
		view.show = func(clusters []engine.ClusterStatus) error { return write(a.stdout, clusters) }
	}
	show := view.show
	view.show = func(clusters []engine.ClusterStatus) error {
		return show(report.HideSensitive(clusters, s.loaded.Sensitive))
	}
	return view
}

func writeTime(w io.Writer, clusters []engine.ClusterStatus) error {
	_, err := fmt.Fprintln(w, clusters[0].Time.Format("2006-01-02 15:04:05 MST"))
	return err
}

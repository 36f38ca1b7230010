package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/planner"
	"holdfast/engine/report"
	"holdfast/engine/report/tables"
	"holdfast/engine/rollout"
)

func (a *app) statusCommand() *cobra.Command {
	var metrics string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the fleet by pool, its holds and its etcd clusters; complete or not",
		Long: `status shows the state of every host: updated, pending, staged, drifted,
updating, degraded, paused, maintenance, held or unreachable. A host has drifted
if it was changed since its configuration was applied, and its pool only reports
that. It is paused if it differs, and the inventory pauses it. The inventory has
the reason of a maintenance. A host is degraded if a run failed on it, if it was
rolled back from the OS that it should run, or if its state is unclear. A pool is
complete if all its hosts are updated; journals of this bastion tell since when.
With --limit, status shows only these hosts, their pools and clusters.

Exit status 0: all hosts are updated; 2: there is work to do, or drift; 3: an
etcd cluster is unhealthy; 5: hosts are unreachable, and all others are updated.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return recordMetrics(&a.console, "status", metrics, func(m *metricsRecorder) error { return a.runStatus(cmd.Context(), m) })
		},
	}
	addMetrics(cmd, &metrics)
	return cmd
}

func (a *app) runStatus(ctx context.Context, metrics *metricsRecorder) error {
	s, err := a.openDesired(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := metrics.enterSite(s); err != nil {
		return err
	}
	history, err := s.inheritIfIdle()
	if err != nil {
		return err
	}
	if a.limit != "" {
		s.narrowToSelected()
	}
	s.run.Hosts = connection.Visits{Hosts: s.hosts}
	facts := s.run.GatherHosts(ctx)
	status := s.newStatus(rollout.Gathered{Facts: facts, Clusters: s.run.GatherClusters(ctx), Kubernetes: s.run.GatherNodes(ctx, facts)}, s.selectFn)
	if err := ctx.Err(); err != nil {
		return err
	}
	if status.Limited = a.limit != ""; !status.Limited { // the history is about whole pools
		status = history.WithSince(status)
		metrics.noteStatus(status)
	}
	status = report.HideSensitive(status, s.loaded.Sensitive)
	if a.json {
		err = a.printJSON(status)
	} else {
		err = tables.WriteStatus(a.tableWriter(), status, a.outputStyle(), a.verbose)
	}
	if err != nil {
		return err
	}
	return exitWith(planner.StatusVerdict(status).Exit)
}

// newStatus returns the state of the selected hosts, or of all hosts if selected is nil.
func (s *site) newStatus(gathered rollout.Gathered, selected func(engine.Host) bool) engine.Status {
	return planner.NewStatus(planner.Input{
		Request: planner.Request{Inventory: s.run.Inventory, Desired: s.run.Desired, Modules: s.run.Modules, Selected: selected, Dead: s.run.Dead},
		Facts:   gathered.Facts, Clusters: gathered.Clusters, Kubernetes: gathered.Kubernetes, Run: s.run.ID, Bastion: s.run.Start.Bastion,
	})
}

func (s *site) narrowToSelected() {
	inv := &s.run.Inventory
	inv.Hosts = s.selectedHosts()
	has := func(match func(engine.Host) bool) bool { return slices.ContainsFunc(inv.Hosts, match) }
	inv.Pools = slices.DeleteFunc(slices.Clone(inv.Pools), func(p engine.Pool) bool {
		return !has(func(h engine.Host) bool { return h.Pool == p.Name })
	})
	inv.Clusters = slices.DeleteFunc(slices.Clone(inv.Clusters), func(c engine.Cluster) bool {
		return !has(func(h engine.Host) bool { return h.Cluster == c.Name })
	})
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/planner"
	"holdfast/engine/report"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
	"holdfast/engine/rollout"
	"holdfast/engine/standing"
	"holdfast/modules"
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

func (a *app) holdsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "holds",
		Short: "List the hosts that are held, by whom, why and until when",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.listHolds(cmd.Context()) },
	}
}

func (a *app) listHolds(ctx context.Context) error {
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return err
	}
	defer s.close()
	s.run.Modules, s.run.Hosts = modules.HoldsOnly(), connection.Visits{Hosts: s.hosts}
	facts, err := s.gatherSelected(ctx)
	if err != nil {
		return err
	}
	held, unreached, code := []tables.HeldHost{}, 0, engine.ExitOK
	for _, h := range s.selectedHosts() {
		f := facts[h.Name]
		switch st := (standing.View{}).JudgeFacts(f); {
		case st.Kind == standing.Unreached:
			fmt.Fprintf(a.stderr, "%s: unreachable: %s\n", h.Name, termtext.SafeLine(s.secrets.Hide(f.Unreachable)))
			code = engine.ExitUnreachable
			unreached++
		case st.Kind == standing.HeldWhenLastSeen:
			held = append(held, tables.HeldHost{Host: h.Name, Hold: st.Hold, Unreachable: f.Unreachable, LastSeen: st.LastHold.Seen, Power: st.LastHold.Power})
		case f.Held():
			held = append(held, tables.HeldHost{Host: h.Name, Hold: f.Hold, Problem: f.HoldProblem, Expired: st.Expired, Rebooted: st.Rebooted})
		}
	}
	held = report.HideSensitive(held, s.loaded.Sensitive)
	if a.json {
		err = a.printJSON(held)
	} else {
		err = tables.WriteHolds(a.tableWriter(), held, unreached)
	}
	if err != nil {
		return err
	}
	return exitWith(code)
}

func (a *app) validateCommand() *cobra.Command {
	var book playbookFlags
	cmd := &cobra.Command{
		Use:   "validate [PLAYBOOK]",
		Short: "Check everything that can be checked without a host",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := book.parseArgs(args); err != nil {
				return err
			}
			a.otherVars = a.playbookVariables(book)
			loaded, err := a.loadInventory()
			if err != nil {
				return err
			}
			inv := loaded.Inventory
			if _, err := a.parseSelection(inv, nil); err != nil {
				return err
			}
			c := a.newConfigs(cmd.Context(), loaded)
			_, configErr := c.States()
			plays := &site{inv: inv, run: &rollout.Run{}}
			playErr := a.readPlays(plays, book)
			absent, authorityErr := a.checkAuthorities(loaded)
			withoutFile, kubeErr := a.checkKubeconfigs(loaded)
			sshErr := errors.Join(a.checkSSHConfig(inv.Hosts)...)
			if err := errors.Join(configErr, playErr, authorityErr, kubeErr, sshErr); err != nil {
				return err
			}
			for _, w := range slices.Concat(loaded.Warnings, c.Warnings, absent, withoutFile) {
				fmt.Fprintln(a.stderr, "holdfast: warning:", w)
			}
			if a.json {
				return a.printJSON(report.HideSensitive(inv, loaded.Sensitive))
			}
			var pools []string
			for _, p := range inv.Pools {
				pools = append(pools, p.Name)
			}
			documents := ""
			if len(c.Documents) > 0 {
				documents = fmt.Sprintf("; documents: %d", len(c.Documents))
			}
			fmt.Fprintf(a.stdout, "site %s is valid; hosts: %d; pools: %s; etcd clusters: %d%s\n", inv.Site, len(inv.Hosts), strings.Join(pools, ", "), len(inv.Clusters), documents)
			if book.file != "" {
				fmt.Fprintf(a.stdout, "playbook %s is valid; plays: %d\n", book.file, len(plays.run.Plays))
			}
			return nil
		},
	}
	book.addFlags(cmd)
	return cmd
}

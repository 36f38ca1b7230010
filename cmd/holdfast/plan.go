package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/connection"
	"holdfast/engine/filediff"
	"holdfast/engine/hostscript"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/planview"
	"holdfast/engine/rollout"
	"holdfast/engine/savedplan"
)

func (a *app) planCommand() *cobra.Command {
	var out, metrics string
	var book playbookFlags
	var over, retry, anyEtcd, full bool
	var repair []string
	cmd := &cobra.Command{
		Use:   "plan [PLAYBOOK]",
		Short: "Show the changes that apply would make, and why; touch nothing",
		Long: `plan gathers facts of the hosts, and shows the changes with their actions and
rules, the batches, the excluded hosts with the reason, and warnings. It changes
nothing. Of many changes with one rule it shows some; --verbose shows all, the
reason for each, and every step. Drift, which is a change that somebody made on a
host since its configuration was applied, is shown apart. Of a playbook, plan
shows every play as if it were the first.

Exit status 0: every host matches; 2: there is work to do, or drift that a pool
only reports; 3: it would not be safe, or an etcd cluster is unhealthy; 4: an
earlier roll-out is unfinished, or all hosts that differ are held, paused or
outside of their window; 5: hosts are unreachable, and all others match.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := book.parseArgs(args); err != nil {
				return err
			}
			return recordMetrics(&a.console, "plan", metrics, func(m *metricsRecorder) error {
				return planRun{a, m}.runPlan(cmd.Context(), out, book, func(s *site) error {
					s.run.OverIncomplete, s.run.RetryRejected, s.run.AnyEtcdVersion = over, retry, anyEtcd
					s.run.FullReboot = full
					return s.setRepairHosts(repair)
				})
			})
		},
	}
	cmd.Flags().BoolVar(&over, "continue-over-incomplete", false, "plan another OS although an earlier one has not reached every host")
	cmd.Flags().BoolVar(&retry, "retry-rolled-back", false, "plan an OS again on hosts that were rolled back from it")
	addRepair(cmd, &repair)
	addAnyEtcdVersion(cmd, &anyEtcd)
	addFullReboot(cmd, &full)
	addMetrics(cmd, &metrics)
	book.addFlags(cmd)
	cmd.Flags().BoolVar(&a.diffs, "diff", false, "show contents of changed files line by line, of those that are not secret, binary or large")
	cmd.Flags().StringVar(&out, "out", "", "save the plan to `FILE`, for apply --plan")
	return cmd
}

// planRun plans an inventory or a playbook, and shows the plans.
type planRun struct {
	*app
	metrics *metricsRecorder
}

func (r planRun) runPlan(ctx context.Context, out string, book playbookFlags, how func(*site) error) error {
	r.otherVars = r.playbookVariables(book)
	s, err := r.openDesired(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := errors.Join(r.metrics.enterSite(s), how(s), r.readPlays(s, book)); err != nil {
		return err
	}
	if out != "" && len(s.run.Plays) > 1 {
		return errors.New("plan: --out saves the plan of one play; choose it with --tags")
	}
	if r.diffs && (len(s.run.Plays) > 0 || r.json) {
		return errors.New("plan: --diff is for people, and for no playbook: leave out --json and the playbook")
	}
	if _, err := s.inheritIfIdle(); err != nil {
		return err
	}
	s.run.Hosts = connection.Visits{Hosts: s.hosts}
	plans, sight, err := s.planAll(ctx)
	if err != nil {
		return err
	}
	if sight.Facts != nil && r.metrics.path != "" {
		sight.Clusters = s.run.GatherOtherClusters(ctx, sight.Clusters)
		if err := ctx.Err(); err != nil {
			return err
		}
		r.metrics.noteStatus(s.newStatus(sight, nil))
	}
	r.warnOfInventory(s)
	r.warnOfHooks(s)
	if out != "" {
		if err := savedplan.Save(out, plans[0], s.run.Desired, s.loaded.Sensitive); err != nil {
			return err
		}
	}
	if err := r.showPlans(s, plans); err != nil {
		return err
	}
	if r.diffs {
		if err := r.showContents(ctx, s, plans[0], sight); err != nil {
			return err
		}
	}
	verdict := plans[0].Verdict()
	for _, p := range plans[1:] {
		verdict = verdict.And(p.Verdict())
	}
	return exitWith(verdict.Exit)
}

// planAll returns, without a playbook, the only plan, and the facts that the plan was made from.
func (s *site) planAll(ctx context.Context) ([]engine.Plan, rollout.Gathered, error) {
	if len(s.run.Plays) > 0 {
		plans, err := s.run.PlanPlays(ctx)
		return plans, rollout.Gathered{}, err
	}
	plan, sight, err := s.run.Plan(ctx)
	return []engine.Plan{plan}, sight, err
}

// showContents shows line by line how a plan changes files, and how drift has
// changed them. It omits files that are secret, binary or large.
func (r planRun) showContents(ctx context.Context, s *site, plan engine.Plan, sight rollout.Gathered) error {
	src := filediff.Source{Facts: sight.Facts, Desired: s.run.Desired, Sensitive: s.loaded.Sensitive, Forks: cmp.Or(r.forks, 32), Run: s.readOn}
	list, err := src.PlanContents(ctx, plan)
	if err != nil {
		return err
	}
	return planview.WriteContents(r.stdout, list, r.outputStyle())
}

func (s *site) readOn(ctx context.Context, host string, commands []engine.Command) (engine.Outputs, error) {
	h, _ := s.inv.Host(host)
	conn, err := s.hosts.Connect(ctx, h)
	if err != nil {
		return nil, err
	}
	mark := bastion.NewHoldID()
	reply, err := conn.Run(ctx, rollout.Script{Text: hostscript.ProbeScript(commands, mark), Timeout: time.Minute})
	if err != nil {
		return nil, err
	}
	return hostscript.ReadOutputs(commands, mark, reply.Stdout, reply.Stderr)
}

// inheritIfIdle makes read-only commands treat holds like the next apply. Unless
// a run of this bastion is running, all earlier runs are dead. inheritIfIdle
// returns the history of the earlier runs.
func (s *site) inheritIfIdle() (journal.History, error) {
	left, err := journal.ObserveSite(s.runsDir, s.inv.Site, s.holdOwner())
	if err != nil { // a run is under way, or the journals cannot be read: all holds count
		history, err := journal.ReadHistory(s.runsDir, s.inv.Site)
		s.learnTimes(history.Times)
		return history, err
	}
	s.inherit(left.WithoutLiving(bastion.StateDir()))
	s.run.Awaited = nil // read-only commands do not wait
	return left.History, nil
}

func (r planRun) showPlans(s *site, plans []engine.Plan) error {
	plans, all := s.withForecasts(plans)
	if len(s.run.Plays) == 0 {
		return r.showPlan(s, plans[0])
	}
	if r.json {
		return r.printJSON(report.HideSensitive(plans, s.loaded.Sensitive))
	}
	for i, p := range plans {
		if i > 0 {
			fmt.Fprintln(r.stdout)
		}
		if err := r.showPlan(s, p); err != nil {
			return err
		}
	}
	if len(plans) > 1 && all != nil {
		return planview.WriteAllPlays(r.stdout, *all, len(plans))
	}
	return nil
}

// warnOfInventory prints the warnings of the inventory and of its documents.
func (c *console) warnOfInventory(s *site) {
	for _, w := range s.loaded.Warnings {
		c.printWarning(w)
	}
}

func (r planRun) showPlan(s *site, plan engine.Plan) error {
	clean := report.HideSensitive(plan, s.loaded.Sensitive)
	if r.json {
		return r.printJSON(clean)
	}
	return planview.Write(r.stdout, clean, r.outputStyle(), r.verbose)
}

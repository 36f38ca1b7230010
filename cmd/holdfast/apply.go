package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/clock"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/planview"
	"holdfast/engine/rollout"
	"holdfast/engine/savedplan"
)

type applyFlags struct {
	yes    bool
	saved  string
	onHeld string
	step   bool
	book   playbookFlags

	bestEffort, overIncomplete, retryRolledBack bool

	repair         []string
	anyEtcdVersion bool
	fullReboot     bool
	metrics        string
}

func (a *app) applyCommand() *cobra.Command {
	var f applyFlags
	cmd := &cobra.Command{
		Use:   "apply [PLAYBOOK]",
		Short: "Make the hosts match: plan, ask, stage, and roll out batch by batch",
		Long: `apply plans as plan does, asks, and carries the plan out. It stages the new OS
on all hosts while they keep running. Then it disrupts the hosts batch by batch:
hold, check quorum, drain, move the etcd leader, reboot, wait for recovery,
release. Changes that disrupt nothing are made without these steps. Before each
batch, apply gathers the facts of all hosts again; it does nothing that was not
in the plan. If a plan was saved with --limit, its limit holds. With a playbook
(docs/playbooks.md), apply carries out its plays, and asks before each.

After one Ctrl-C, apply starts no batch, brings each host to a safe point and
releases it. After two, it stops at once; holds stay, and the next run continues.
A lost terminal counts as the first Ctrl-C.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			outlastReader()
			if err := f.book.parseArgs(args); err != nil {
				return err
			}
			if f.onHeld != "skip" && f.onHeld != "refuse" {
				return fmt.Errorf("apply: --on-held must be skip or refuse, not %q", f.onHeld)
			}
			return recordMetrics(&a.console, "apply", f.metrics, func(m *metricsRecorder) error {
				return applyRun{app: a, flags: f, metrics: m}.runApply(cmd.Context())
			})
		},
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().StringVar(&f.saved, "plan", "", "carry out exactly the plan in `FILE`, saved by plan --out; refuse if a host has changed since")
	cmd.Flags().StringVar(&f.onHeld, "on-held", "skip", "if somebody else holds hosts, `skip` them, or refuse to run")
	cmd.Flags().BoolVar(&f.step, "step", false, "ask before each batch that disrupts hosts")
	cmd.Flags().BoolVar(&f.bestEffort, "best-effort", false, "continue with the healthy hosts of pools in which hosts have failed, within all other limits")
	cmd.Flags().BoolVar(&f.overIncomplete, "continue-over-incomplete", false, "roll out another OS although an earlier one has not reached every host")
	cmd.Flags().BoolVar(&f.retryRolledBack, "retry-rolled-back", false, "try an OS again on hosts that were rolled back from it")
	addRepair(cmd, &f.repair)
	addAnyEtcdVersion(cmd, &f.anyEtcdVersion)
	addFullReboot(cmd, &f.fullReboot)
	addMetrics(cmd, &f.metrics)
	f.book.addFlags(cmd)
	return cmd
}

// applyRun carries out an inventory or a playbook.
type applyRun struct {
	*app
	flags   applyFlags
	saved   *engine.Plan // nil: the run plans itself
	metrics *metricsRecorder
}

func (a applyRun) runApply(ctx context.Context) error {
	a.otherVars = a.playbookVariables(a.flags.book)
	if a.flags.saved != "" {
		p, err := savedplan.Read(a.flags.saved, a.newInputs().ReadFile)
		if err != nil {
			return err
		}
		a.saved = &p
	}
	s, err := a.openDesired(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := errors.Join(a.metrics.enterSite(s), a.selectWork(s)); err != nil {
		return err
	}
	if err := a.canAsk(); err != nil {
		return err
	}
	if err := a.setBastionIdentity(s); err != nil {
		return err
	}
	_, unlock, err := s.enterSite()
	if err != nil {
		a.metrics.skipIfBusy(err)
		return err
	}
	defer unlock()
	a.warnOfHooks(s)
	written, err := journal.Create(s.runsDir, s.run.ID)
	if err != nil {
		return failWith(engine.ExitFailed, fmt.Errorf("%w; nothing was touched", err))
	}
	defer func() { _ = written.Close() }() // every event is on disk already
	output := a.newRunOutput()
	done := sync.OnceFunc(func() { output.closeView(ctx) })
	sink := &report.RunSink{Secrets: s.secrets, Journal: written, View: output}
	s.run.Sink = sink
	s.run.RefuseHeld = a.flags.onHeld == "refuse"
	s.run.Compare, s.run.Approve = a.compareSaved(s), a.approvePlan(s)
	s.run.BestEffort = a.flags.bestEffort
	if a.flags.step {
		s.run.Step = a.askBatch
	}
	defer done()
	a.gently(a.showsStopping())
	if a.metrics.path != "" {
		s.run.NoteStatus = a.metrics.noteStatus
	}
	end := s.run.Apply(ctx)
	a.metrics.figures.End = &end
	if sink.End() == nil { // the journal cannot be written
		return failWith(end.Exit, errors.New(s.secrets.Hide(end.Verdict.Failures[0].Error())))
	}
	done() // the output of the run comes first
	endTeller{&a.console, s}.tellEnd(ctx, *sink.End())
	return exitWith(end.Exit)
}

// selectWork takes the hosts and the permissions of the saved plan, if there is one.
func (a applyRun) selectWork(s *site) error {
	if a.saved != nil {
		if err := s.checkSavedHosts(*a.saved, a.flags.saved); err != nil {
			return err
		}
		if a.limit != "" {
			if err := s.checkSameLimit(*a.saved, a.flags.saved, a.limit); err != nil {
				return err
			}
		}
		s.limitTo(*a.saved)
		s.run.SavedWork = a.saved.Hosts
	}
	if err := a.setPermissions(s); err != nil {
		return err
	}
	if err := a.readPlays(s, a.flags.book); err != nil {
		return err
	}
	if a.saved != nil && len(s.run.Plays) > 1 {
		return errors.New("apply: a saved plan is for one play; choose the play with --tags, as when it was saved")
	}
	if a.saved != nil && a.saved.Play != "" && len(s.run.Plays) == 0 {
		return fmt.Errorf("apply: %s is the plan of play %q of a playbook; give that playbook, too", a.flags.saved, a.saved.Play)
	}
	return nil
}

// setPermissions takes the permissions of the flags and of the saved plan, which was approved with them.
func (a applyRun) setPermissions(s *site) error {
	saved := engine.Plan{}
	if a.saved != nil {
		saved = *a.saved
	}
	s.run.FullReboot = a.flags.fullReboot || saved.FullReboot
	s.run.AnyEtcdVersion = a.flags.anyEtcdVersion || saved.AnyEtcdVersion
	s.run.RetryRejected = a.flags.retryRolledBack || saved.RetryRolledBack
	s.run.OverIncomplete = a.flags.overIncomplete || saved.OverridesRollout()
	if len(a.flags.repair) == 0 {
		return s.setRepairHosts(saved.Repair)
	}
	return s.setRepairHosts(a.flags.repair)
}

func (a applyRun) canAsk() error {
	err := a.checkTerminal()
	switch {
	case err == nil:
		return nil
	case a.flags.step:
		return fmt.Errorf("apply: --step asks, and %w", err)
	case !a.flags.yes && a.flags.saved == "":
		return fmt.Errorf("apply: %w, so nobody can be asked; use --yes, or --plan with a saved plan", err)
	}
	return nil
}

func (s *site) limitTo(p engine.Plan) {
	if len(p.Selected) > 0 {
		s.selectOnly(p.Selected)
		s.run.Selected = s.selectFn
	}
}

// enterSite takes the lock of the site. It tells the run the holds and failures
// of earlier runs of this bastion, and returns these runs.
func (s *site) enterSite() (left journal.EarlierRuns, unlock func(), err error) {
	info := journal.LockInfo{Run: s.run.ID, Holder: s.run.Start.Holder, PID: os.Getpid(), Since: clock.Real{}.Now().Truncate(time.Second)}
	left, leave, err := journal.EnterSite(s.runsDir, s.inv.Site, s.holdOwner(), info)
	var busy *journal.BusyError
	if errors.As(err, &busy) {
		return left, nil, failWith(engine.ExitRefused, fmt.Errorf("refused: %w", err))
	}
	if err != nil {
		return left, nil, err
	}
	end, err := journal.MarkLiving(bastion.StateDir(), s.run.ID)
	if err != nil {
		leave()
		return left, nil, err
	}
	left = left.WithoutLiving(bastion.StateDir())
	s.inherit(left)
	return left, func() { end(); leave() }, nil
}

func (s *site) inherit(left journal.EarlierRuns) {
	s.run.Dead, s.run.Awaited, s.run.Lost, s.run.Retry, s.run.CompletedOS = left.Dead, left.Rebooting, left.Lost, left.Failed, left.History.Complete
	s.learnTimes(left.History.Times)
}

// compareSaved returns the function that refuses a plan that differs from the saved
// plan, or nil without one.
func (a applyRun) compareSaved(s *site) func(engine.Plan) error {
	if a.saved == nil {
		return nil
	}
	return func(plan engine.Plan) error {
		if err := savedplan.Check(plan, *a.saved, s.run.Desired, s.loaded.Sensitive); err != nil {
			return &engine.Failure{Step: "compare with " + a.flags.saved, Cause: err.Error(), Kind: engine.RefusedFailure}
		}
		return nil
	}
}

// approvePlan returns the function that shows a plan and asks for its approval, or
// nil with --yes or a saved plan.
func (a applyRun) approvePlan(s *site) func(context.Context, engine.Plan) error {
	if a.flags.yes || a.saved != nil {
		return nil
	}
	warn := sync.OnceFunc(func() { a.warnOfInventory(s) })
	return func(ctx context.Context, plan engine.Plan) error {
		if !a.output.Flush(ctx) {
			return ctx.Err()
		}
		warn()
		to := a.questionStream()
		if err := planview.Write(to, report.HideSensitive(plan, s.loaded.Sensitive), styleOf(to), a.verbose); err != nil {
			return err
		}
		yes, err := a.askForYes("Carry this out? Only \"yes\" is taken for an answer:")
		if err == nil && !yes {
			return rollout.ErrDeclined
		}
		return err
	}
}

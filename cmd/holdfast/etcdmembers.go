package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/issuer"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/membersview"
	"holdfast/engine/textutil"
)

type membersFlags struct {
	command string
	yes     bool
	remove  []string
	timeout time.Duration // for a learner to catch up

	anyVersion bool // of etcd on new hosts
}

func (a *app) etcdMembersCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "members", Short: "Add and remove members, until the hosts of the inventory are the voters"}
	f := membersFlags{command: "etcd members"}
	plan := &cobra.Command{
		Use:   "plan [CLUSTER]",
		Short: "Print the steps of apply, or why there must be none",
		Args:  expectArgs(0, 1),
		Long: `plan prints the steps after which each host of the cluster has a voter, and
retired hosts have none, with the number of voters after each step. It changes
nothing. With one cluster in the inventory, its name may be omitted.

Exit status 0: the members are as they should be; 2: there are steps; 3: the
members must not be changed now, and standard error has the reason.`,
		RunE: func(cmd *cobra.Command, args []string) error { return a.membersPlan(cmd.Context(), args, f) },
	}
	apply := &cobra.Command{
		Use:   "apply [CLUSTER]",
		Short: "Carry the steps out, one member at a time",
		Args:  expectArgs(0, 1),
		Long: `apply prints the plan, asks, and carries it out. It gathers all facts again
before each step. A cluster grows before it shrinks. A new member is a learner
until it has caught up; if this takes longer than --learner-timeout, apply removes
it again. Data of removed members are set aside on their hosts, never deleted. If
a run was killed, the next one continues.

Exit status 0: the members are as they should be; 3: a step failed, or the
members must not be changed now; 4: somebody else holds a host, the inventory
pauses it, or a step is needed that was not approved; 5: a host cannot be
reached; 6: stopped.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.timeout <= 0 {
				return fmt.Errorf("etcd members apply: --learner-timeout must be longer than 0, not %s; without the flag it is %s", f.timeout, engine.Duration(change.LearnerTime).Trimmed())
			}
			outlastReader()
			return a.membersApply(cmd.Context(), args, f)
		},
	}
	for _, c := range []*cobra.Command{plan, apply} {
		c.Flags().StringSliceVar(&f.remove, "remove-member", nil, "remove the member with this `NAME` or ID, which is dead, or on no host of the inventory (repeatable)")
		c.Flags().BoolVar(&f.anyVersion, "any-etcd-version", false, "add a member although its etcd is older than the cluster, or more than one minor version newer")
	}
	apply.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	apply.Flags().DurationVar(&f.timeout, "learner-timeout", change.LearnerTime, "how long a new member may take to catch up")
	cmd.AddCommand(plan, apply)
	requireSubcommand(cmd)
	return cmd
}

func (a *app) openMembers(ctx context.Context, args []string, f membersFlags) (*site, *change.Run, error) {
	s, err := a.openSite(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	run, err := a.newMembersRun(ctx, s, args, f)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, run, nil
}

func (a *app) newMembersRun(ctx context.Context, s *site, args []string, f membersFlags) (*change.Run, error) {
	name, err := s.onlyCluster(f.command, args)
	if err != nil {
		return nil, err
	}
	spec, _ := s.inv.Cluster(name)
	if spec.Managed == nil {
		return nil, fmt.Errorf("%s: etcd cluster %s is not managed; set manage = true in its block", f.command, name)
	}
	members := s.clusters.Members(name)
	var certificates *change.Certificates
	if ca := spec.Managed.CA; ca != nil {
		signs, err := issuer.Open(*ca, signingBastion{a.newInputs(), bastion.Commands{Dir: s.loaded.Dir}})
		if err != nil {
			return nil, fmt.Errorf("%s: etcd cluster %s: %w", f.command, name, err)
		}
		certificates = &change.Certificates{Issuer: signs, Reconnect: members.Forget}
	} else if _, err := s.clusters.Open(ctx, name); err != nil { // nothing can be done without credentials
		return nil, failWith(engine.ExitFailed, err)
	}
	run := &change.Run{
		Cluster: spec, Members: s.inv.Members(name), Named: f.remove, Etcd: members, Hosts: scriptHosts{s}, Certificates: certificates,
		Snapshot: func(ctx context.Context) (string, error) { return s.clusters.Snapshot(ctx, name) },
		Emit:     func(event.Event) error { return nil }, Timeout: f.timeout,
		AnyVersion: f.anyVersion,
	}
	if spec.Managed.Hook != "" {
		run.Hook = s.newHook(spec, members)
	}
	run.Paused = map[string]bool{}
	for _, h := range run.Members {
		pool, _ := s.inv.Pool(h.Pool)
		run.Paused[h.Name] = h.Paused || pool.Paused
	}
	run.Prepare()
	return run, nil
}

func (a *app) membersPlan(ctx context.Context, args []string, f membersFlags) error {
	s, run, err := a.openMembers(ctx, args, f)
	if err != nil {
		return err
	}
	defer s.close()
	state, err := run.Observe(ctx)
	if err != nil {
		return err
	}
	forecast := membership.Plan(state)
	if a.json {
		err = a.printJSON(forecast)
	} else {
		err = membersview.WriteForecast(a.stdout, state, forecast)
	}
	switch {
	case err != nil:
		return err
	case forecast.Refusal != nil:
		return failWith(engine.ExitFailed, forecast.Refusal)
	case len(forecast.Steps) > 0:
		return exitWith(engine.ExitWork)
	}
	return nil
}

func (a *app) membersApply(ctx context.Context, args []string, f membersFlags) error {
	if !f.yes && !term.IsTerminal(int(a.stdin.Fd())) {
		return errors.New("etcd members apply: standard input is not a terminal, so nobody can be asked; use --yes")
	}
	s, run, err := a.openMembers(ctx, args, f)
	if err != nil {
		return err
	}
	defer s.close()
	unlock, err := a.enterMembers(s, run)
	if err != nil {
		return err
	}
	defer unlock()
	if done, err := a.approveMembers(ctx, run, f); done || err != nil {
		return err
	}
	return a.journalMembers(s, run, run.Apply)
}

// enterMembers takes the lock of the site, and finds the dead runs whose holds this run may adopt.
func (a *app) enterMembers(s *site, run *change.Run) (unlock func(), err error) {
	if err := a.setBastionIdentity(s); err != nil {
		return nil, err
	}
	left, unlock, err := s.enterSite()
	if err != nil {
		return nil, err
	}
	run.Owner, run.Holder = s.holdOwner(), s.run.Start.Holder
	run.Dead = journal.DeadMemberRuns(left.Runs, run.Cluster.Name, run.Owner, s.inv.Site)
	return unlock, nil
}

func (a *app) journalMembers(s *site, run *change.Run, apply func(context.Context) error) error {
	written, err := journal.Create(s.runsDir, s.run.ID)
	if err != nil {
		return failWith(engine.ExitFailed, fmt.Errorf("%w; nothing was changed", err))
	}
	defer func() { _ = written.Close() }() // every event is on disk already
	events := a.newMembersEvents(s, written)
	run.Emit = events.emitEvent
	s.run.Start.Cluster = run.Cluster.Name
	if err := events.emitEvent(event.Event{Type: event.RunStarted, Start: &s.run.Start}); err != nil {
		return failWith(engine.ExitFailed, err)
	}
	a.gently(true)
	err = apply(a.soft)
	exit := membersExit(err)
	if err != nil && a.soft.Err() != nil {
		exit, err = engine.ExitStopped, errors.Join(errors.New("stopped; the next run continues"), err)
	}
	end := event.RunEnd{Exit: exit, Reason: "the members of etcd cluster " + run.Cluster.Name + " are as they should be"}
	if err != nil {
		end.Reason = textutil.Printable(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if emitErr := events.emitEvent(event.Event{Type: event.RunEnded, End: &end}); emitErr != nil {
		return failWith(engine.ExitFailed, errors.Join(err, emitErr))
	}
	return exitWith(exit)
}

// membersEvents writes the events of a run to the journal, and shows them.
type membersEvents struct {
	journal *journal.Writer
	view    report.Sink
	run     string
	seq     int
	hide    func(event.Event) event.Event
}

func (a *app) newMembersEvents(s *site, w *journal.Writer) *membersEvents {
	m := &membersEvents{journal: w, view: membersview.Lines{W: a.stdout}, run: s.run.ID}
	if a.json {
		m.view = report.JSONLines{W: a.stdout}
	}
	m.hide = func(e event.Event) event.Event { return report.HideSensitive(e, s.loaded.Sensitive) }
	return m
}

func (m *membersEvents) emitEvent(e event.Event) error {
	m.seq++
	e.Schema, e.Seq, e.Run, e.Time = event.Schema, m.seq, m.run, bastion.Clock{}.Now()
	e = m.hide(e)
	if err := m.journal.Emit(e); err != nil {
		return err
	}
	return m.view.Emit(e)
}

// planWriter returns the writer for the planned steps. With --json, standard output has only
// events. So if the command asks a question, the operator reads the steps on standard error.
func (a *app) planWriter(asks bool) io.Writer {
	switch {
	case !a.json:
		return a.stdout
	case asks:
		return a.stderr
	}
	return io.Discard
}

// approveMembers returns done as true if there is nothing to do.
func (a *app) approveMembers(ctx context.Context, run *change.Run, f membersFlags) (done bool, err error) {
	state, err := run.Settled(ctx)
	if err != nil {
		return false, err
	}
	forecast := membership.Plan(state)
	if err := membersview.WriteForecast(a.planWriter(!f.yes), state, forecast); err != nil {
		return false, err
	}
	switch {
	case forecast.Refusal != nil && len(forecast.Steps) == 0:
		return false, failWith(engine.ExitFailed, forecast.Refusal)
	case len(forecast.Steps) == 0 && len(run.Dead) == 0:
		return true, nil
	case forecast.Refusal != nil:
		fmt.Fprintf(a.stderr, "holdfast: warning: after these steps: %v\n", forecast.Refusal)
	}
	if !f.yes && !a.askForYes("Carry this out? Only \"yes\" is taken for an answer:") {
		return false, failWith(engine.ExitStopped, errors.New("stopped: nothing was changed"))
	}
	run.Accept(forecast)
	return false, nil
}

func membersExit(err error) engine.ExitCode {
	var f *engine.Failure
	switch {
	case err == nil:
		return engine.ExitOK
	case errors.As(err, &f) && (f.Kind == engine.HeldFailure || f.Kind == engine.RefusedFailure):
		return engine.ExitRefused
	case errors.As(err, &f) && f.Kind == engine.UnreachableFailure:
		return engine.ExitUnreachable
	}
	return engine.ExitFailed
}

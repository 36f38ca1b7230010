package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/issuer"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/event"
	"holdfast/engine/journal"
	"holdfast/engine/report/membersview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/standing"
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
		RunE: func(cmd *cobra.Command, args []string) error {
			return memberChange{a, f}.membersPlan(cmd.Context(), args)
		},
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
			return memberChange{a, f}.membersApply(cmd.Context(), args)
		},
	}
	for _, c := range []*cobra.Command{plan, apply} {
		c.Flags().StringSliceVar(&f.remove, "remove-member", nil, "remove the member with this `NAME` or ID, which is dead, or on no host of the inventory (repeatable)")
		c.Flags().BoolVar(&f.anyVersion, "any-etcd-version", false, "add a member although its etcd is older than the cluster, or more than one minor version newer")
	}
	apply.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	apply.Flags().DurationVar(&f.timeout, "learner-timeout", change.LearnerTime, "`DURATION` that a new member may take to catch up")
	cmd.AddCommand(plan, apply)
	requireSubcommand(cmd)
	return cmd
}

// memberChange changes the members of an etcd cluster.
type memberChange struct {
	*app
	flags membersFlags
}

func (c memberChange) openMembers(ctx context.Context, args []string) (*site, *change.Run, error) {
	s, err := c.openSite(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	run, err := c.newMembersRun(ctx, s, args)
	if err != nil {
		s.close()
		return nil, nil, err
	}
	return s, run, nil
}

func (c memberChange) newMembersRun(ctx context.Context, s *site, args []string) (*change.Run, error) {
	name, err := s.onlyCluster(c.flags.command, args)
	if err != nil {
		return nil, err
	}
	spec, _ := s.inv.Cluster(name)
	if spec.Managed == nil {
		return nil, fmt.Errorf("%s: etcd cluster %s is not managed; set manage = true in its block", c.flags.command, name)
	}
	members := s.clusters.Members(name)
	var certificates *change.Certificates
	if ca := spec.Managed.CA; ca != nil {
		signs, err := issuer.Open(*ca, signingBastion{c.newInputs(), bastion.Commands{Dir: s.loaded.Dir, Secrets: s.secrets}})
		if err != nil {
			return nil, fmt.Errorf("%s: etcd cluster %s: %w", c.flags.command, name, err)
		}
		certificates = &change.Certificates{Issuer: signs, Reconnect: members.Forget, ClientsDone: ca.ClientsDone}
	} else if _, err := s.clusters.Open(ctx, name); err != nil { // nothing can be done without credentials
		return nil, failWith(engine.ExitFailed, err)
	}
	run := &change.Run{
		Cluster: spec, Members: s.inv.Members(name), Named: c.flags.remove, Etcd: members, Hosts: scriptHosts{s}, Certificates: certificates,
		Snapshot: func(ctx context.Context) (string, error) { return s.clusters.Snapshot(ctx, name) },
		Emit:     func(event.Event) error { return nil }, Timeout: c.flags.timeout,
		AnyVersion: c.flags.anyVersion,
	}
	if spec.Managed.Hook != "" {
		run.Hook = s.newHook(spec, members)
	}
	run.LeftAlone = map[string]string{}
	for _, h := range run.Members {
		pool, _ := s.inv.Pool(h.Pool)
		run.LeftAlone[h.Name] = (standing.View{}).Judge(h, pool, engine.Facts{}).DescribeFlag()
	}
	run.Prepare()
	return run, nil
}

func (c memberChange) membersPlan(ctx context.Context, args []string) error {
	s, run, err := c.openMembers(ctx, args)
	if err != nil {
		return err
	}
	defer s.close()
	state, err := run.Observe(ctx)
	if err != nil {
		return err
	}
	forecast := membership.Plan(state)
	run.WarnOfHolds(ctx, &forecast)
	if c.json {
		err = c.printJSON(forecast)
	} else {
		err = membersview.WriteForecast(c.stdout, state, forecast)
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

func (c memberChange) membersApply(ctx context.Context, args []string) error {
	if err := c.checkTerminal(); err != nil && !c.flags.yes {
		return fmt.Errorf("etcd members apply: %w, so nobody can be asked; use --yes", err)
	}
	s, run, err := c.openMembers(ctx, args)
	if err != nil {
		return err
	}
	defer s.close()
	unlock, err := c.enterMembers(s, run)
	if err != nil {
		return err
	}
	defer unlock()
	if done, err := c.approveMembers(ctx, run); done || err != nil {
		return err
	}
	return c.journalMembers(s, run, run.Apply)
}

// enterMembers takes the lock of the site, and finds the dead runs whose holds this run may adopt.
func (c memberChange) enterMembers(s *site, run *change.Run) (unlock func(), err error) {
	if err := c.setBastionIdentity(s); err != nil {
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

func (c memberChange) journalMembers(s *site, run *change.Run, apply func(context.Context) error) error {
	written, err := journal.Create(s.runsDir, s.run.ID)
	if err != nil {
		return failWith(engine.ExitFailed, fmt.Errorf("%w; nothing was changed", err))
	}
	defer func() { _ = written.Close() }() // every event is on disk already
	events := c.newMembersEvents(s, written)
	run.Emit = events.emitEvent
	s.run.Start.Cluster = run.Cluster.Name
	if err := events.emitEvent(event.Event{Type: event.RunStarted, Start: &s.run.Start}); err != nil {
		return failWith(engine.ExitFailed, err)
	}
	c.gently(true)
	err = apply(c.soft)
	end := membersEnd(err, c.soft.Err() != nil)
	emitErr := events.emitEvent(event.Event{Type: event.RunEnded, Cluster: run.Cluster.Name, End: &end})
	flushInTime(c.hard, c.output) // the output of the run comes first
	if events.ended != nil {
		endTeller{&c.console, s}.tellEnd(c.hard, *events.ended)
	}
	if emitErr != nil {
		return failWith(engine.ExitFailed, errors.Join(err, emitErr))
	}
	return exitWith(end.Exit)
}

// approveMembers returns done as true if there is nothing to do.
func (c memberChange) approveMembers(ctx context.Context, run *change.Run) (done bool, err error) {
	state, err := run.Settled(ctx)
	if err != nil {
		return false, err
	}
	forecast := membership.Plan(state)
	if err := membersview.WriteForecast(c.planWriter(!c.flags.yes), state, forecast); err != nil && !c.flags.yes { // a closed output stops nothing that is approved
		return false, err
	}
	switch {
	case forecast.Refusal != nil && len(forecast.Steps) == 0:
		return false, failWith(engine.ExitFailed, forecast.Refusal)
	case len(forecast.Steps) == 0 && len(run.Dead) == 0:
		return true, nil
	case forecast.Refusal != nil:
		fmt.Fprintf(c.stderr, "holdfast: warning: after these steps: %s\n", termtext.SafeLine(forecast.Refusal.Error()))
	}
	if !c.flags.yes {
		yes, err := c.askForYes("Carry this out? Only \"yes\" is taken for an answer:")
		switch {
		case err != nil:
			return false, failWith(engine.ExitFailed, err)
		case !yes:
			return false, errDeclined
		}
	}
	run.Accept(forecast)
	return false, nil
}

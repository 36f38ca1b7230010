package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/input"
	"holdfast/engine/report/membersview"
	"holdfast/engine/report/termtext"
	"holdfast/engine/rollout"
)

type restoreFlags struct {
	yes, dryRun bool
	lost        []string
	from        string
	sameCluster bool
}

func (a *app) etcdRestoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore CLUSTER [SNAPSHOT]",
		Short: "Make a cluster again whose quorum is lost for good",
		Args:  expectArgs(1, 2),
		Long: `restore makes a cluster with manage = true again, from a snapshot that was saved
on this machine, or else from the newest data directory on its hosts. All later
writes are lost. It prints the state of each host, the writes that would be lost, and its
steps. Then it asks for the name of the cluster, and carries the steps out.
With --dry-run, it ends after the steps, and also without a terminal to ask at.

If the hosts have data of several clusters, their revisions cannot be compared:
name a host with the right ones (--from).

It refuses while a quorum lives, or may live. A host that does not answer may
have a living member; if the host is gone for good, name it with --lost.

Old data are set aside on their hosts, never deleted. The new cluster begins with
one voter, and grows to the hosts of the inventory as with etcd members apply. If
a restore was interrupted, the next one continues.

Exit status 0: the members are as they should be; 2: --dry-run, and there are
steps; 3: a step failed, or there must
be no restore now; 4: somebody else holds a host, the inventory pauses it, or a
step is needed that was not approved; 5: a host cannot be reached; 6: stopped.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			outlastReader()
			return restoreCommand{memberChange{a, membersFlags{command: "etcd restore"}}, f}.etcdRestore(cmd.Context(), args)
		},
	}
	cmd.Flags().StringSliceVar(&f.lost, "lost", nil, "the host or member with this `NAME` will never come back with its data (repeatable)")
	cmd.Flags().StringVar(&f.from, "from", "", "use the data of this `HOST`, and not the newest")
	cmd.Flags().BoolVar(&f.sameCluster, "same-cluster", false, "the snapshot is of this cluster, although none of its members is known")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "print the writes that would be lost and the steps, and change nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

// restoreCommand restores an etcd cluster that has lost its quorum.
type restoreCommand struct {
	memberChange
	flags restoreFlags
}

func (r restoreCommand) etcdRestore(ctx context.Context, args []string) error {
	switch {
	case r.flags.yes && r.flags.dryRun:
		return errors.New("etcd restore: --dry-run changes nothing, and --yes is for changes; use one of them")
	case r.flags.from != "" && len(args) > 1:
		return errors.New("etcd restore: --from names a host whose data are used, so there must be no snapshot")
	case r.flags.sameCluster && len(args) < 2:
		return errors.New("etcd restore: --same-cluster is about a snapshot; name one")
	}
	s, run, err := r.openMembers(ctx, args[:1])
	if err != nil {
		return err
	}
	defer s.close()
	work := &change.Restore{
		Run: run, Lost: r.flags.lost, From: r.flags.from, SameCluster: r.flags.sameCluster, Upload: scriptHosts{s}.runWithInput,
		Saved: listSaved(s, run.Cluster.Name), LineagePath: s.clusters.LineagePath(run.Cluster.Name),
	}
	work.Prepare()
	if len(args) > 1 {
		if work.Snapshot, err = change.OpenSnapshot(args[1]); err != nil {
			return failWith(engine.ExitFailed, err)
		}
	}
	unasked := r.checkTerminal()
	if unasked != nil && !r.flags.yes || r.flags.dryRun { // without a terminal it only shows the plan
		return r.previewRestore(ctx, work, unasked)
	}
	unlock, err := r.enterMembers(s, run)
	if err != nil {
		return err
	}
	defer unlock()
	if err := r.approveRestore(ctx, work); err != nil {
		return err
	}
	return r.journalMembers(s, run, work.Apply)
}

// previewRestore shows the restore, and ends. It takes no lock: it changes nothing. unasked is the reason why nobody can be asked.
func (r restoreCommand) previewRestore(ctx context.Context, work *change.Restore, unasked error) error {
	state, err := work.Observe(ctx)
	if err != nil {
		return err
	}
	forecast := restore.Plan(state)
	if r.json {
		err = r.printJSON(restore.NewPreview(state, forecast, work.Saved))
	} else {
		err = membersview.WriteRestore(r.tableWriter(), state, forecast, work.Saved)
	}
	switch {
	case err != nil:
		return err
	case !r.flags.dryRun:
		if forecast.Refusal != nil {
			fmt.Fprintf(r.stderr, "holdfast: warning: %s\n", termtext.SafeLine(forecast.Refusal.Error()))
		}
		return fmt.Errorf("etcd restore: %w, so nobody can be asked; use --yes", unasked)
	case forecast.Refusal != nil:
		return failWith(engine.ExitFailed, forecast.Refusal)
	}
	return exitWith(engine.ExitWork)
}

// approveRestore shows the hosts, the steps and the data that will be lost. Then it asks the
// operator to type the name of the cluster.
func (r restoreCommand) approveRestore(ctx context.Context, work *change.Restore) error {
	state, err := work.Observe(ctx)
	if err != nil {
		return err
	}
	forecast := restore.Plan(state)
	shown := r.tableWriter()
	if r.json { // standard output has only events
		shown = r.stderr
	}
	if err := membersview.WriteRestore(shown, state, forecast, work.Saved); err != nil && !r.flags.yes { // a closed output stops nothing that is approved
		return err
	}
	if forecast.Refusal != nil {
		return failWith(engine.ExitFailed, forecast.Refusal)
	}
	if !r.flags.yes {
		answer, err := r.askOperator("Carry this out? Type the name of the cluster:")
		switch {
		case err != nil:
			return failWith(engine.ExitFailed, err)
		case answer != state.Cluster:
			return errDeclined
		}
	}
	work.Accept(forecast, state.HighestRevision(forecast.Source, work.Saved))
	return nil
}

// maxListed is the largest number of snapshots that are shown.
const maxListed = 5

// listSaved returns the newest snapshots that runs have saved. It omits those that cannot be read.
func listSaved(s *site, cluster string) []restore.Source {
	paths, _ := s.clusters.ListSnapshots(cluster) // an error only means fewer snapshots to show
	var list []restore.Source
	for _, path := range paths[:min(len(paths), maxListed)] {
		file, err := change.ReadSnapshot(path)
		if err == nil {
			list = append(list, file.Source())
		}
	}
	return list
}

// signingBastion implements issuer.Bastion.
type signingBastion struct {
	input.Files
	bastion.Commands
}

// scriptHosts runs scripts on the hosts of its site.
type scriptHosts struct{ site *site }

func (h scriptHosts) Run(ctx context.Context, host engine.Host, script change.Script) (engine.Output, error) {
	return h.runWithInput(ctx, host, script, nil)
}

func (h scriptHosts) runWithInput(ctx context.Context, host engine.Host, script change.Script, input io.Reader) (engine.Output, error) {
	conn, err := h.site.hosts.Connect(ctx, host)
	if err != nil {
		return engine.Output{}, err
	}
	return conn.Run(ctx, rollout.Script{Text: script.Text, Input: input})
}

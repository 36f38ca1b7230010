package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"holdfast/cmd/holdfast/internal/terminal"
	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/etcd/change"
	"holdfast/engine/etcd/restore"
	"holdfast/engine/input"
	"holdfast/engine/report/membersview"
	"holdfast/engine/rollout"
)

type restoreFlags struct {
	yes  bool
	lost []string
}

func (a *app) etcdRestoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore CLUSTER [SNAPSHOT]",
		Short: "Make a cluster again whose quorum is lost for good",
		Args:  expectArgs(1, 2),
		Long: `restore makes a cluster with manage = true again, from a snapshot that was saved
on this machine, or else from the newest data directory on its hosts. All later
writes are lost. It prints the state of each host, what would be lost, and its
steps. Then it asks for the name of the cluster, and carries the steps out.

It refuses while a quorum lives, or may live. A host that does not answer may
have a living member; if the host is gone for good, name it with --lost.

Old data are set aside on their hosts, never deleted. The new cluster begins with
one voter, and grows to the hosts of the inventory as with etcd members apply. If
a restore was interrupted, the next one continues.

Exit status 0: the members are as they should be; 3: a step failed, or there must
be no restore now; 4: somebody else holds a host, the inventory pauses it, or a
step is needed that was not approved; 5: a host cannot be reached; 6: stopped.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			outlastReader()
			return a.etcdRestore(cmd.Context(), args, f)
		},
	}
	cmd.Flags().StringSliceVar(&f.lost, "lost", nil, "the host or member with this `NAME` will never come back with its data (repeatable)")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	return cmd
}

func (a *app) etcdRestore(ctx context.Context, args []string, f restoreFlags) error {
	if !f.yes && !term.IsTerminal(int(a.stdin.Fd())) {
		return errors.New("etcd restore: standard input is not a terminal, so nobody can be asked; use --yes")
	}
	s, run, err := a.openMembers(ctx, args[:1], membersFlags{command: "etcd restore"})
	if err != nil {
		return err
	}
	defer s.close()
	work := &change.Restore{Run: run, Lost: f.lost, Upload: scriptHosts{s}.runWithInput}
	work.Prepare()
	if len(args) > 1 {
		if work.Snapshot, err = change.OpenSnapshot(args[1]); err != nil {
			return failWith(engine.ExitFailed, err)
		}
	}
	unlock, err := a.enterMembers(s, run)
	if err != nil {
		return err
	}
	defer unlock()
	if err := a.approveRestore(ctx, s, work, f); err != nil {
		return err
	}
	return a.journalMembers(s, run, work.Apply)
}

// approveRestore shows the hosts, the steps and the data that will be lost. Then it asks the
// operator to type the name of the cluster.
func (a *app) approveRestore(ctx context.Context, s *site, work *change.Restore, f restoreFlags) error {
	state, err := work.Observe(ctx)
	if err != nil {
		return err
	}
	forecast := restore.Plan(state)
	saved := listSaved(s, state.Cluster)
	if err := membersview.WriteRestore(a.planWriter(!f.yes), state, forecast, saved); err != nil {
		return err
	}
	if forecast.Refusal != nil {
		return failWith(engine.ExitFailed, forecast.Refusal)
	}
	if !f.yes {
		answer, err := terminal.Question{Text: "Carry this out? Type the name of the cluster:"}.Ask(a.soft)
		if err != nil || string(answer) != state.Cluster {
			return failWith(engine.ExitStopped, errors.New("stopped: nothing was changed"))
		}
	}
	work.Accept(forecast, state.Freshest(forecast.Source, saved).Revision)
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
			list = append(list, restore.Source{Path: path, Data: restore.Data{Revision: file.Contents.Revision, Time: file.DescribeTime()}})
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
	reply, err := conn.Run(ctx, rollout.Script{Text: script.Text, Input: input})
	return engine.Output{Stdout: reply.Stdout, Stderr: reply.Stderr, Code: reply.Code}, err
}

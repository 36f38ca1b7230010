package main

import (
	"context"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/maintenance"
)

func (a *app) releaseCommand() *cobra.Command {
	var f releaseFlags
	cmd := &cobra.Command{
		Use:   "release HOST…",
		Short: "End maintenance holds",
		Long: `release ends your maintenance holds, and prints their reasons. It ends the holds
of other people or bastions only with --force: ask the holder first. The hold of a
run is ended by that run, or by the next one, which adopts it. --force ends it,
too: use it only if you know that the run is dead, and in which state the host is.
--force also ends a hold that cannot be read, and prints it.

The hold of hold --power-off has the settings of the host's controller before it.
release restores them. With --force, the hold ends even if that fails.

release undoes the drain of hold --drain: it runs the undo of the pool's drain, or
waits until the node is Ready in the present boot of the host, uncordons the node if
it was not cordoned by somebody else, and deletes its lease. If that fails, the host
stays held. With --force, it is tried for two minutes, and the hold ends all the same.

The hold of a run has the state of the units before the disruption. The host keeps
it after --force, and the next run calls the host updated only when its units are
as before. --accept-units forgets it: the units of the host are right as they are.`,
		Args: expectArgs(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.releaseHolds(cmd.Context(), args, f) },
	}
	cmd.Flags().BoolVar(&f.powerOn, "power-on", false, "switch the hosts on, and wait until they answer, before their holds end")
	cmd.Flags().BoolVar(&f.force, "force", false, "end holds of runs, of other people, and holds that cannot be read, too")
	cmd.Flags().BoolVar(&f.acceptUnits, "accept-units", false, "accept the units of the hosts as they are now, also on hosts without a hold")
	return cmd
}

type releaseFlags struct{ force, acceptUnits, powerOn bool }

func (a *app) releaseHolds(ctx context.Context, names []string, f releaseFlags) error {
	return a.maintain(ctx, names, func(s *site) (maintenance.Request, error) {
		request := maintenance.Request{Action: engine.ReleaseHosts, Force: f.force, AcceptUnits: f.acceptUnits, PowerOn: f.powerOn}
		if f.powerOn {
			return request, checkControlled(s.selectedHosts())
		}
		return request, nil
	})
}

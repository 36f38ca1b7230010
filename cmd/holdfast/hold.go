package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/maintenance"
)

type holdFlags struct {
	reason, ticket, lasts string
	extend, force         bool
}

func (a *app) holdCommand() *cobra.Command {
	var f holdFlags
	cmd := &cobra.Command{
		Use:   "hold HOST… --reason REASON",
		Short: "Keep hosts from being staged, written to or rebooted, for maintenance",
		Long: `hold puts a maintenance hold on hosts. Until it is released, no run stages,
writes to or reboots them, and they count as unavailable for budgets and etcd
quorum. It never replaces another hold; --extend extends one of your own. A login
on the host shows the holder and the reason.

A staging in progress on the host is stopped. hold reads the whole site first. It
warns of every run that is under way, of an unfinished roll-out, of any bastion,
and if an etcd cluster has no more than its quorum without the hosts. It refuses if
the cluster would lose its quorum. hold and release are journaled: holdfast runs
lists them.`,
		Example: `  holdfast hold worker-03 --reason "DIMM swap" --ticket OPS-17 --for 4h
  holdfast hold worker-03 --extend --for 2d`,
		Args: expectArgs(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := parseFor(f.lasts)
			switch {
			case err != nil:
				return err
			case f.extend && d == 0:
				return errors.New("hold: --extend needs --for, which says how long the hold is to last from now")
			case !f.extend && strings.TrimSpace(f.reason) == "":
				return errors.New("hold: --reason is missing; add the reason, which others see on the host and in plans")
			case len(f.reason)+len(f.ticket) > maxReason:
				return fmt.Errorf("hold: --reason and --ticket have more than %d bytes", maxReason)
			}
			return a.runHold(cmd.Context(), args, f, d)
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "`TEXT` for everybody who finds the host held; required without --extend")
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "`TICKET` of the hold")
	cmd.Flags().StringVar(&f.lasts, "for", "", "expected `DURATION` of the hold (4h, 4d); an expired hold is reported, not ended")
	cmd.Flags().BoolVar(&f.extend, "extend", false, "extend your hold to the time of --for from now")
	cmd.Flags().BoolVar(&f.force, "force", false, "hold hosts although their etcd cluster loses its quorum; with --extend, extend holds of other people, too")
	return cmd
}

// maxReason is the largest size, in bytes, of the reason and of the ticket of a
// hold.
const maxReason = 2000

func parseFor(s string) (engine.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := engine.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("hold: --for %q is not a duration such as 30m, 4h or 4d", s)
	}
	return d, nil
}

func (a *app) runHold(ctx context.Context, names []string, f holdFlags, lasts engine.Duration) error {
	return a.maintain(ctx, names, func(s *site) (maintenance.Request, error) {
		request := maintenance.Request{Action: engine.HoldHosts, Reason: f.reason, Ticket: f.ticket, For: lasts, Force: f.force}
		if f.extend {
			request.Action = engine.ExtendHolds
			return request, nil
		}
		if err := a.setBastionIdentity(s); err != nil {
			return request, err
		}
		if _, err := s.inheritIfIdle(); err != nil {
			return request, err
		}
		var err error
		request.Runs, err = s.activeRuns()
		return request, err
	})
}

// activeRuns returns the roll-outs of this bastion that are under way on the site.
func (s *site) activeRuns() ([]maintenance.ActiveRun, error) {
	runs, err := journal.ListRuns(s.runsDir)
	if err != nil {
		return nil, err
	}
	var active []maintenance.ActiveRun
	for _, r := range runs {
		if !r.UnderWay || r.Site != s.inv.Site || r.Maintenance != "" {
			continue
		}
		planned, err := journal.PlannedHosts(s.runsDir, r)
		if err != nil { // the run is named without its hosts
			planned = nil
		}
		active = append(active, maintenance.ActiveRun{ID: r.ID, Holder: r.Holder, Hosts: planned})
	}
	return active, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/maintenance"
)

type holdFlags struct {
	reason, ticket, lasts, until  string
	extend, force, powerOff, wait bool
	drain                         bool
	graceful                      engine.Duration
}

func (a *app) holdCommand() *cobra.Command {
	var f holdFlags
	var shutdown string
	cmd := &cobra.Command{
		Use:   "hold HOST… --reason REASON",
		Short: "Keep hosts from being staged, written to or rebooted, for maintenance",
		Long: `hold puts a maintenance hold on hosts. Until it is released, no run stages,
writes to or reboots them, and they count as unavailable for budgets and etcd
quorum. It never replaces another hold; --extend extends one of your own. A login
on the host shows the holder and the reason.

--drain moves the work off the hosts first, with the drain of their pool, as a
roll-out does. A drain that fails gives its host back: it is undone, and the hold
ends. The hold has everything that was done, and release undoes exactly that.

--power-off shuts the hosts down, cuts the power of those that do not, keeps their
power off when the mains return, and switches their locator lights on. release
undoes that. With --drain, nothing is switched off before it is drained. The same
command goes on after an interruption.

A staging in progress on the host is stopped. hold reads the whole site first. It
warns of every run that is under way, of an unfinished roll-out, of any bastion,
and if an etcd cluster has no more than its quorum without the hosts. It refuses if
the cluster would lose its quorum, or with --drain or --power-off, if max_unavailable
of the pool or of the site would be exceeded. hold and release are journaled: holdfast runs
lists them.`,
		Example: `  holdfast hold worker-03 --reason "DIMM swap" --ticket OPS-17 --for 4h
  holdfast hold worker-03 --extend --for 2d`,
		Args: expectArgs(1, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := f.parseEnd(time.Now())
			if err == nil {
				f.graceful, err = parseShutdown("hold", shutdown)
			}
			if err == nil && !f.powerOff && cmd.Flags().Changed("shutdown-timeout") {
				err = errors.New("hold: --shutdown-timeout is for --power-off; add --power-off, or leave --shutdown-timeout out")
			}
			if err == nil {
				err = f.checkFlags(d)
			}
			if err != nil {
				return err
			}
			return a.runHold(cmd.Context(), args, f, d)
		},
	}
	cmd.Flags().StringVar(&f.reason, "reason", "", "`TEXT` for everybody who finds the host held; required without --extend")
	cmd.Flags().StringVar(&f.ticket, "ticket", "", "`TICKET` of the hold")
	cmd.Flags().StringVar(&f.lasts, "for", "", "expected `DURATION` of the hold (4h, 4d); an expired hold is reported, not ended")
	cmd.Flags().StringVar(&f.until, "until", "", "expected end of the hold as a `TIME` with its zone (2026-11-28T14:00+01:00), in place of --for")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until no run that is under way holds the hosts")
	cmd.Flags().BoolVar(&f.drain, "drain", false, "drain the hosts once they are held, until their release")
	cmd.Flags().BoolVar(&f.powerOff, "power-off", false, "shut the hosts down once they are held and drained, and keep their power off until their release")
	cmd.Flags().StringVar(&shutdown, "shutdown-timeout", "5m", "with --power-off, `DURATION` after which the power of a host that has not shut down is cut")
	cmd.Flags().BoolVar(&f.extend, "extend", false, "extend your hold to the time of --for from now")
	cmd.Flags().BoolVar(&f.force, "force", false, "hold hosts although their etcd cluster loses its quorum or max_unavailable is exceeded; with --extend, extend holds of other people, too")
	return cmd
}

// checkFlags returns an error about flags that do not belong together.
func (f holdFlags) checkFlags(lasts engine.Duration) error {
	switch {
	case f.extend && (f.drain || f.powerOff || f.wait):
		return errors.New("hold: --extend extends a hold that stands; use --drain, --power-off and --wait without it")
	case f.extend && lasts == 0:
		return errors.New("hold: --extend needs --for, which says how long the hold is to last from now")
	case !f.extend && strings.TrimSpace(f.reason) == "":
		return errors.New("hold: --reason is missing; add the reason, which others see on the host and in plans")
	case len(f.reason)+len(f.ticket) > maxReason:
		return fmt.Errorf("hold: --reason and --ticket have more than %d bytes", maxReason)
	}
	return nil
}

// checkDrained returns an error that names all hosts that nothing drains.
func checkDrained(inv engine.Inventory, hosts []engine.Host) error {
	var errs []error
	for _, h := range hosts {
		if p, _ := inv.Pool(h.Pool); p.Drain == nil || p.Drain.Command == "" && p.Drain.Kubernetes == nil {
			errs = append(errs, fmt.Errorf("hold: nothing drains %s, because its pool %s has no drain; add a drain block with a command or a kind to the pool, or leave --drain out", h.Name, h.Pool))
		}
	}
	return errors.Join(errs...)
}

// maxReason is the largest size, in bytes, of the reason and of the ticket of a
// hold.
const maxReason = 2000

// parseEnd returns how long the hold lasts, or 0 if it has no end.
func (f holdFlags) parseEnd(now time.Time) (engine.Duration, error) {
	if f.until == "" {
		return parseFor(f.lasts)
	}
	if f.lasts != "" {
		return 0, errors.New("hold: use either --for or --until")
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02 15:04 Z07:00"} {
		end, err := time.Parse(layout, f.until)
		switch {
		case err != nil:
		case !end.After(now):
			return 0, fmt.Errorf("hold: --until %q is in the past", f.until)
		default:
			return engine.Duration(end.Sub(now).Truncate(time.Second) + time.Second), nil // hosts count whole seconds, and the hold must not end before
		}
	}
	return 0, fmt.Errorf("hold: --until %q is not a time with its zone, such as %s", f.until, now.Add(4*time.Hour).Format("2006-01-02T15:04Z07:00"))
}

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
		request := maintenance.Request{
			Action: engine.HoldHosts, Reason: f.reason, Ticket: f.ticket, For: lasts, Force: f.force, Drain: f.drain, PowerOff: f.powerOff, Graceful: f.graceful, Wait: f.wait,
		}
		var err error
		if f.drain {
			err = checkDrained(s.inv, s.selectedHosts())
		}
		if f.powerOff {
			err = errors.Join(err, checkControlled(s.selectedHosts()))
		}
		if err != nil {
			return request, err
		}
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

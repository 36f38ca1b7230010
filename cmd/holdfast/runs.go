package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/clock"
	"holdfast/engine/journal"
	"holdfast/engine/report"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/tables"
)

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs [RUN]",
		Short: "List the runs of this bastion, the newest first, or read one",
		Long: `runs lists the runs of this bastion, the newest first. With the ID of one, or the beginning of its
ID, it shows that run as a log would have it; --verbose shows every step, and all of each plan.`,
		Args: expectArgs(0, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := a.runsFolder()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return a.showRun(dir, args[0])
			}
			runs, err := journal.ListRuns(dir)
			if err != nil {
				return err
			}
			journal.MarkUnderWay(runs, bastion.StateDir())
			if a.json {
				return a.printJSON(append([]journal.Run{}, runs...))
			}
			return tables.WriteRuns(a.tableWriter(), runs)
		},
	}
	cmd.AddCommand(a.pruneCommand())
	return cmd
}

func (o *siteOpener) runsFolder() (string, error) {
	if o.runsDir != "" {
		return o.runsDir, nil
	}
	loaded, err := o.loadInventory()
	if err != nil {
		return "", err
	}
	return filepath.Join(loaded.Dir, "runs"), nil
}

func (a *app) showRun(dir, name string) error {
	id, err := journal.FindRun(dir, name)
	if err != nil {
		return fmt.Errorf("runs: %w", err)
	}
	var view report.Sink = &lines.Writer{W: a.stdout, Style: a.outputStyle(), Plan: true, Full: a.verbose}
	if a.json {
		view = report.JSONLines{W: a.stdout}
	}
	return journal.Replay(dir, id, view.Emit)
}

// prunedRun is a run whose journal was removed.
type prunedRun struct {
	ID string `json:"id"` // ID of the run
}

func (c *console) showPruned(ids []string) error {
	if c.json {
		list := make([]prunedRun, len(ids))
		for i, id := range ids {
			list[i].ID = id
		}
		return c.printJSON(list)
	}
	for _, id := range ids {
		fmt.Fprintln(c.stdout, "removed", id)
	}
	_, err := fmt.Fprintf(c.stdout, "journals removed: %d\n", len(ids))
	return err
}

func (a *app) pruneCommand() *cobra.Command {
	var keep int
	var older string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove journals of old runs that nothing needs any more",
		Long: `prune removes the journals of runs that ended with 0 and began longer ago than
--older-than. It keeps the newest --keep runs of each site, and the journals that
tell later runs which hosts failed, and which pools are complete.`,
		Args: expectArgs(0, 0),
		RunE: func(*cobra.Command, []string) error {
			var age engine.Duration
			var err error
			if older != "" {
				if age, err = engine.ParseDuration(older); err != nil || age <= 0 {
					return fmt.Errorf("runs prune: --older-than %q is not a duration such as 30d or 12h", older)
				}
			}
			if keep < 0 {
				return errors.New("runs prune: --keep must not be negative")
			}
			dir, err := a.runsFolder()
			if err != nil {
				return err
			}
			gone, err := journal.Prune(dir, keep, clock.Real{}.Now().Add(-time.Duration(age)))
			return errors.Join(a.showPruned(gone), err)
		},
	}
	cmd.Flags().IntVar(&keep, "keep", 20, "keep the newest `N` runs of each site, at any age")
	cmd.Flags().StringVar(&older, "older-than", "30d", "remove only runs that began longer ago than `AGE`")
	return cmd
}

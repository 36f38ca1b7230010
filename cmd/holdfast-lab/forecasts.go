package main

import (
	"fmt"
	"io"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/journal"
)

// forecastShare is how far the time of a roll-out may be from its forecast, as a part of the forecast.
const forecastShare = 0.25

func forecastsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "forecasts FOLDER…",
		Short: "Compare the forecasts of roll-outs with the time that they took",
		Long: "Read the journals in these folders, such as site/runs. For each run that had a forecast and ended with 0, print\n" +
			"how long the first plan of the run said that it takes, and how long it took from that plan on. Of a playbook,\n" +
			"print each play. Count the runs and plays whose time is within 25 % of their forecast.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readAllForetold(args)
			if err != nil {
				return err
			}
			return writeForetold(cmd.OutOrStdout(), all)
		},
	}
}

func readAllForetold(dirs []string) (all []foretold, err error) {
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil {
			return nil, fmt.Errorf("list journals: %w", err)
		}
		for _, f := range files {
			runs, err := readForetold(f)
			if err != nil {
				return nil, err
			}
			all = append(all, runs...)
		}
	}
	return all, nil
}

// foretold is a roll-out with a forecast, or a play of one.
type foretold struct {
	run            string
	began          time.Time
	hosts          int
	forecast, took time.Duration
}

func (f foretold) isNear() bool {
	return f.took >= time.Duration(float64(f.forecast)*(1-forecastShare)) && f.took <= time.Duration(float64(f.forecast)*(1+forecastShare))
}

// readForetold returns nothing of a run that did not end with 0.
func readForetold(path string) ([]foretold, error) {
	run := filepath.Base(path[:len(path)-len(".jsonl")])
	var all []foretold
	var play string
	planned, ended := false, false
	endPlay := func(at time.Time) {
		if last := len(all) - 1; last >= 0 && all[last].took == 0 {
			all[last].took = at.Sub(all[last].began)
		}
	}
	err := journal.Read(path, func(e event.Event) error {
		switch {
		case e.Type == event.Planned && e.Plan != nil && (!planned || e.Plan.Play != play):
			endPlay(e.Time)
			planned, play = true, e.Plan.Play
			if f := e.Plan.Forecast; f != nil && f.Known {
				name := run
				if play != "" {
					name += " " + play
				}
				all = append(all, foretold{run: name, began: e.Time, hosts: len(e.Plan.Hosts), forecast: time.Duration(f.Takes)})
			}
		case e.Type == event.RunEnded && e.End != nil && e.End.Exit == engine.ExitOK:
			endPlay(e.Time)
			ended = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if !ended {
		return nil, nil
	}
	return all, nil
}

func writeForetold(out io.Writer, all []foretold) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tHOSTS\tFORECAST\tTOOK\tDIFFERENCE")
	near := 0
	for _, f := range all {
		if f.isNear() {
			near++
		}
		share := 0.0
		if f.forecast > 0 {
			share = 100 * (float64(f.took)/float64(f.forecast) - 1)
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%+.0f %%\n", f.run, f.hosts, f.forecast.Round(time.Second), f.took.Round(time.Second), share)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%d of %d within %.0f %%\n", near, len(all), 100*forecastShare)
	return err
}

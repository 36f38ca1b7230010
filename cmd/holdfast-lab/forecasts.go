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
			"how long the first plan of the run said that it takes, and how long it took from that plan on. Count the runs\n" +
			"whose time is within 25 % of their forecast.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []foretold
			for _, dir := range args {
				files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
				if err != nil {
					return err
				}
				for _, f := range files {
					run, ok, err := readForetold(f)
					if err != nil {
						return err
					}
					if ok {
						all = append(all, run)
					}
				}
			}
			return writeForetold(cmd.OutOrStdout(), all)
		},
	}
}

// foretold is a roll-out with a forecast.
type foretold struct {
	run            string
	hosts          int
	forecast, took time.Duration
}

func (f foretold) isNear() bool {
	return f.took >= time.Duration(float64(f.forecast)*(1-forecastShare)) && f.took <= time.Duration(float64(f.forecast)*(1+forecastShare))
}

// readForetold returns false for a run without a forecast, and for one that did not end with 0.
func readForetold(path string) (foretold, bool, error) {
	f := foretold{run: filepath.Base(path[:len(path)-len(".jsonl")])}
	var planned, ended time.Time
	err := journal.Read(path, func(e event.Event) error {
		switch {
		case e.Type == event.Planned && planned.IsZero() && e.Plan != nil && e.Plan.Forecast != nil && e.Plan.Forecast.Known:
			planned, f.hosts, f.forecast = e.Time, len(e.Plan.Hosts), time.Duration(e.Plan.Forecast.Takes)
		case e.Type == event.RunEnded && e.End != nil && e.End.Exit == engine.ExitOK:
			ended = e.Time
		}
		return nil
	})
	if err != nil {
		return foretold{}, false, fmt.Errorf("read %s: %w", path, err)
	}
	f.took = ended.Sub(planned)
	return f, !planned.IsZero() && !ended.IsZero(), nil
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

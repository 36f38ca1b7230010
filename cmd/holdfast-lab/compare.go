package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/sourcegraph/conc/pool"
	"github.com/spf13/cobra"

	"holdfast/cmd/holdfast-lab/internal/demo"
	"holdfast/cmd/holdfast-lab/internal/lab"
	"holdfast/cmd/holdfast-lab/internal/site"
)

func compareCommand(open opener) *cobra.Command {
	var rounds int
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare the time of a plan without changes with the time of ssh HOST true",
		Long: "Measure how long \"ssh HOST true\" takes on all hosts at the same time, then how long \"holdfast plan\" takes on\n" +
			"these hosts if nothing is to be changed. Repeat both, and print their medians. The machine should have nothing else to do.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rounds < 1 {
				return errors.New("read flags: --rounds must be at least 1")
			}
			l, release, err := openReserved(open, cmd)
			if err != nil {
				return err
			}
			defer release()
			if !l.IsUp() {
				return lab.ErrDown
			}
			return printComparison(cmd.Context(), l, rounds, cmd.OutOrStdout())
		},
	}
	cmd.Flags().IntVar(&rounds, "rounds", 11, "how often to measure both")
	return cmd
}

// printComparison measures in each round how long it takes to log in to all
// hosts at the same time, and how long a plan of them takes. It prints the
// medians of the rounds.
func printComparison(ctx context.Context, l *lab.Lab, rounds int, out io.Writer) error {
	dir, err := os.MkdirTemp("", "holdfast-")
	if err != nil {
		return fmt.Errorf("make a folder for holdfast: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	binary, err := demo.Build(ctx, dir)
	if err != nil {
		return err
	}
	var logins, plans []time.Duration
	for range rounds {
		login, err := measureTime(func() error { return logInToAll(ctx, l) })
		if err != nil {
			return err
		}
		plan, err := measureTime(func() error {
			return runInLab(ctx, l, binary, "plan", "-i", filepath.Join(l.Site(), site.Inventory))
		})
		if err != nil {
			return fmt.Errorf("%w; the plan must have nothing to change and nothing to report, as after holdfast-lab reset with all hosts", err)
		}
		logins, plans = append(logins, login), append(plans, plan)
	}
	login, plan := medianOf(logins), medianOf(plans)
	fmt.Fprintf(out, "%d hosts, medians of %d rounds\n  ssh HOST true, on all hosts at once  %4d ms\n  holdfast plan                        %4d ms, %.2f times as long\n",
		len(l.Hosts()), rounds, login.Milliseconds(), plan.Milliseconds(), float64(plan)/float64(login))
	return nil
}

func measureTime(do func() error) (time.Duration, error) {
	began := time.Now()
	err := do()
	return time.Since(began), err
}

func medianOf(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func logInToAll(ctx context.Context, l *lab.Lab) error {
	workers := pool.New().WithContext(ctx).WithFirstError()
	for _, h := range l.Hosts() {
		workers.Go(func(ctx context.Context) error { return runInLab(ctx, l, append(loginCommand(l, h), "true")...) })
	}
	return workers.Wait()
}

func runInLab(ctx context.Context, l *lab.Lab, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	if err := l.Start(cmd); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("run %s: %w", filepath.Base(argv[0]), err)
	}
	return nil
}

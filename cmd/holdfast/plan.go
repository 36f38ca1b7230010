package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

func (a *app) planCommand() *cobra.Command {
	var out string
	var book playbookFlags
	var over, retry bool
	var repair []string
	cmd := &cobra.Command{
		Use:   "plan [PLAYBOOK]",
		Short: "Show what apply would do, and why; touch nothing",
		Long: `plan looks at the hosts and shows every change, the actions it takes and the
rule that gave them, the batches, what is left out and why, and warnings. It
touches nothing. Of many changes with one rule it shows some; --verbose shows
all, why each is made, and every step. Drift is what was changed on a host since
it was applied; it is shown apart. Exit status 0: every host matches; 2: there
is work to do, or drift that a pool only reports; 3: it would not be safe, or an
etcd cluster is not healthy; 4:
all that is left is held, paused or outside of its window, or an earlier roll-out
is unfinished; 5: all that is left cannot be reached. Of a playbook it shows
every play, as if it were the first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := book.parseArgs(args); err != nil {
				return err
			}
			return a.runPlan(cmd.Context(), out, book, func(s *site) error {
				s.run.OverIncomplete, s.run.RetryRejected = over, retry
				return s.setRepairHosts(repair)
			})
		},
	}
	cmd.Flags().BoolVar(&over, "continue-over-incomplete", false, "plan another OS although an earlier one has not reached every host")
	cmd.Flags().BoolVar(&retry, "retry-rolled-back", false, "plan an OS again on hosts that were rolled back from it")
	addRepair(cmd, &repair)
	book.addFlags(cmd)
	cmd.Flags().BoolVar(&a.diffs, "diff", false, "show contents of changed files line by line, of those that are not secret, binary or large")
	cmd.Flags().StringVar(&out, "out", "", "save the plan to `FILE`, for apply --plan")
	return cmd
}

func (a *app) runPlan(ctx context.Context, out string, book playbookFlags, how func(*site) error) error {
	a.otherVars = a.playbookVariables(book)
	s, err := a.openDesired(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := errors.Join(how(s), a.readPlays(s, book)); err != nil {
		return err
	}
	if out != "" && len(s.run.Plays) > 1 {
		return errors.New("plan: --out saves the plan of one play; choose it with --tags")
	}
	if a.diffs && (len(s.run.Plays) > 0 || a.json) {
		return errors.New("plan: --diff is for people, and for no playbook: leave out --json and the playbook")
	}
	if _, err := s.inheritIfIdle(); err != nil {
		return err
	}
	plans, sight, err := s.planAll(ctx)
	if err != nil {
		return err
	}
	if out != "" {
		if err := savePlan(out, sealPlan(plans[0], s.loaded.Sensitive)); err != nil {
			return err
		}
	}
	if err := a.showPlans(s, plans); err != nil {
		return err
	}
	if a.diffs {
		if err := a.showContents(ctx, s, plans[0], sight); err != nil {
			return err
		}
	}
	verdict := plans[0].Verdict()
	for _, p := range plans[1:] {
		verdict = verdict.And(p.Verdict())
	}
	return exitWith(verdict.Exit)
}

// planAll returns the plan of each play, or the single plan if there is no
// playbook. Only the latter comes with the gathered facts.
func (s *site) planAll(ctx context.Context) ([]engine.Plan, rollout.Gathered, error) {
	if len(s.run.Plays) > 0 {
		plans, err := s.run.PlanPlays(ctx)
		return plans, rollout.Gathered{}, err
	}
	plan, sight, err := s.run.Plan(ctx)
	return []engine.Plan{plan}, sight, err
}

func savePlan(path string, plan engine.Plan) error {
	b, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

func (a *app) readPlan(path string) (engine.Plan, error) {
	var plan engine.Plan
	b, err := a.newInputs().ReadFile(path)
	if err != nil {
		return plan, fmt.Errorf("read plan: %w", err)
	}
	if err := json.Unmarshal(b, &plan); err != nil {
		return plan, fmt.Errorf("read plan %s: it is not a plan saved by holdfast plan --out: %w", path, err)
	}
	if plan.Schema != engine.PlanSchema {
		return plan, fmt.Errorf("read plan %s: it has schema %d, this version knows %d; plan again", path, plan.Schema, engine.PlanSchema)
	}
	return plan, nil
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"holdfast/engine"
	"holdfast/engine/report"
)

func (a *app) planCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would do, and why; touch nothing",
		Long: `plan looks at the hosts and shows every change, the actions it takes and the
rule that gave them, the batches, what is left out and why, and warnings. It
touches nothing. Of many changes with one rule it shows some; --verbose shows
all, why each is made, and every step. Drift is what was changed on a host since
it was applied; it is shown apart. Exit status 0: every host matches; 2: there
is work to do, or drift that a pool only reports; 3: it would not be safe; 4:
all that is left is held; 5: all that is left cannot be reached.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.plan(cmd.Context(), out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "save the plan to `FILE`, for apply --plan")
	return cmd
}

func (a *app) plan(ctx context.Context, out string) error {
	s, err := a.openDesired(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	if err := s.survey(); err != nil {
		return err
	}
	plan, _, err := s.run.Plan(ctx)
	if err != nil {
		return err
	}
	if out != "" {
		if err := savePlan(out, report.Hide(plan, s.loaded.Sensitive)); err != nil {
			return err
		}
	}
	if err := a.showPlan(s, plan); err != nil {
		return err
	}
	return exit(plan.Exit())
}

// savePlan writes a plan for apply --plan.
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

func readPlan(path string) (engine.Plan, error) {
	var plan engine.Plan
	b, err := os.ReadFile(path)
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

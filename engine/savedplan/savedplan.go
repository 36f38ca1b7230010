package savedplan

import (
	"encoding/json"
	"fmt"
	"os"

	"holdfast/engine"
)

// Save writes a plan to a file, with a seal in place of its secrets.
func Save(path string, plan engine.Plan, sensitive []string) error {
	b, err := json.MarshalIndent(sealPlan(plan, sensitive), "", "  ")
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if err := os.WriteFile(path, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	return nil
}

// Read reads a saved plan. readFile reads the file.
func Read(path string, readFile func(string) ([]byte, error)) (engine.Plan, error) {
	var plan engine.Plan
	b, err := readFile(path)
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

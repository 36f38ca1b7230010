package savedplan

import (
	"encoding/json"
	"fmt"

	"holdfast/engine"
	"holdfast/engine/privatefile"
)

// maxPlan is the limit of a saved plan, in bytes. Files that a person names may have
// as many when they are read (engine/input).
const maxPlan = 128 << 20

// Save writes a plan to a file, with a seal in place of its secrets. Without
// indentation, the plan of 10,000 hosts is half as long.
func Save(path string, plan engine.Plan, sensitive []string) error {
	b, err := json.Marshal(sealPlan(plan, sensitive))
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if len(b) >= maxPlan {
		return fmt.Errorf("save plan: it has %d MiB, and a file that is read may have %d; select fewer hosts with --limit", len(b)>>20, maxPlan>>20)
	}
	if err := privatefile.Write(path, append(b, '\n')); err != nil {
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

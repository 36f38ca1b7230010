package savedplan

import (
	"encoding/json"
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/privatefile"
)

// maxPlan is the limit of a saved plan, in bytes. Files that a person names may have
// as many when they are read (engine/input).
const maxPlan = 128 << 20

// maxValues is the limit of the values of a saved plan. A value of two bytes may need
// 200 bytes in memory.
const maxValues = 2_000_000

// Save writes a plan to a file, with a seal in place of its secrets, and with the
// aims of its hosts. Without indentation, the plan of 10,000 hosts is half as long.
func Save(path string, plan engine.Plan, desired map[string]engine.Desired, sensitive []string) error {
	sealed := sealPlan(plan, sensitive)
	aims := engine.DigestAims(sealed.Hosts, desired)
	sealed.Hosts = slices.Clone(sealed.Hosts)
	for i, hp := range sealed.Hosts {
		sealed.Hosts[i].Aim = aims[hp.Host]
	}
	b, err := json.Marshal(sealed)
	if err != nil {
		return fmt.Errorf("save plan: %w", err)
	}
	if len(b) >= maxPlan {
		return fmt.Errorf("save plan: it has %d MiB, and a file that is read may have %d; select fewer hosts with --limit", len(b)>>20, maxPlan>>20)
	}
	if n := countValues(b); n > maxValues {
		return fmt.Errorf("save plan: it has %d values, and a plan that is read may have %d; select fewer hosts with --limit", n, maxValues)
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
	if n := countValues(b); n > maxValues {
		return plan, fmt.Errorf("read plan %s: it has %d values, and a plan may have %d", path, n, maxValues)
	}
	if err := json.Unmarshal(b, &plan); err != nil {
		return plan, fmt.Errorf("read plan %s: it is not a plan saved by holdfast plan --out: %w", path, err)
	}
	if plan.Schema != engine.PlanSchema {
		return plan, fmt.Errorf("read plan %s: it has schema %d, this version knows %d; plan again", path, plan.Schema, engine.PlanSchema)
	}
	return plan, nil
}

// countValues returns about the number of values in JSON, and reads nothing but its text.
func countValues(text []byte) int {
	count, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '[' || c == '{'):
			count++
		}
	}
	return count
}

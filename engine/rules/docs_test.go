package rules

import (
	"os"
	"strings"
	"testing"
)

// The documentation lists all built-in rules with their actions.
func TestBuiltinRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/configs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range builtinRules {
		var list []Action
		for _, a := range r.Actions {
			list = append(list, Action{Action: a})
		}
		row := "| `" + r.Path + "` | " + joinNames(list)
		if r.Unit != "" {
			row = "| unit `" + r.Unit + "` | " + joinNames(list)
		}
		if !strings.Contains(string(text), "\n"+row+" |\n") && (r.Path != registriesPath || !strings.Contains(string(text), "\n"+row+"; drain first unless the change is safe |\n")) {
			t.Errorf("docs/configs.md has no row %s |", row)
		}
	}
	if rows := strings.Count(string(text), "\n| `/") + strings.Count(string(text), "\n| unit `"); rows != len(builtinRules) {
		t.Errorf("docs/configs.md has %d rules, there are %d", rows, len(builtinRules))
	}
}

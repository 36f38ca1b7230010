package rules

import (
	"os"
	"strings"
	"testing"
)

// The documentation lists all built-in rules with their actions.
func TestBuiltinRulesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config-changes.md")
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
			t.Errorf("docs/config-changes.md has no row %s |", row)
		}
	}
	table, _, _ := strings.Cut(string(text)[strings.Index(string(text), "\n| `"+builtinRules[0].Path):], "\n\n")
	if rows := strings.Count(table, "\n| "); rows != len(builtinRules) {
		t.Errorf("docs/config-changes.md has %d rules, there are %d", rows, len(builtinRules))
	}
}

package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/longtest"
	"holdfast/engine/report/metrics"
)

const (
	rulesFile     = "../../../examples/prometheus-alerts.yml"
	rulesTestFile = "../../../examples/prometheus-alerts-test.yml"
	dashboardFile = "../../../examples/grafana-dashboard.json"
)

// dashboard has the parts of a Grafana dashboard that tests look at.
type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		Type    string
		GridPos struct{ H, W, X, Y int }
		Targets []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) dashboard {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestExamplesNameMetrics: rules and dashboard name only metrics that exist, and the dashboard shows each.
func TestExamplesNameMetrics(t *testing.T) {
	known := map[string]bool{}
	for _, m := range metrics.Catalogue() {
		known[m.Name] = true
	}
	shown := map[string]bool{}
	for _, file := range []string{rulesFile, rulesTestFile, dashboardFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\bholdfast_[a-z0-9_]+`).FindAllString(string(text), -1) {
			if !known[name] {
				t.Errorf("%s names %s, which does not exist", filepath.Base(file), name)
			}
			shown[name] = shown[name] || file == dashboardFile
		}
	}
	for name := range known {
		if !shown[name] && name != "holdfast_complete" { // pools show where
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// TestDashboardLayout: panels have names and numbers of their own, and do not overlap.
func TestDashboardLayout(t *testing.T) {
	taken := map[[2]int]string{}
	ids := map[int]bool{}
	for _, p := range readDashboard(t).Panels {
		if p.Title == "" || ids[p.ID] {
			t.Errorf("panel %d %q has no title, or the number of another", p.ID, p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("panels %q and %q overlap", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.GridPos.X+p.GridPos.W > 24 || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q is too wide, or has no query", p.Title)
		}
	}
}

func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing; Debian's package prometheus has it")
	}
	if out, err := exec.CommandContext(t.Context(), tool, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlerts runs the tests of the rules, and checks that each rule has one that fires.
func TestAlerts(t *testing.T) {
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile(rulesTestFile)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if fires := regexp.MustCompile(`alertname: ` + m[1] + `\n +exp_alerts:\n`); !fires.Match(tests) {
			t.Errorf("no test of %s expects it to fire", m[1])
		}
		if !strings.Contains(string(page), "| `"+m[1]+"` |") {
			t.Errorf("docs/metrics.md does not describe %s", m[1])
		}
	}
	runPromtool(t, "check", "rules", rulesFile)
	longtest.SkipSlow(t)
	runPromtool(t, "test", "rules", rulesTestFile)
}

// TestDashboardQueries parses the queries of the dashboard as those of recording rules.
func TestDashboardQueries(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	var queries []string
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
		}
	}
	if len(queries) < 18 {
		t.Errorf("only %d queries", len(queries))
	}
	slices.Sort(queries)
	for i, q := range slices.Compact(queries) {
		fmt.Fprintf(&rules, "  - record: query_%d\n    expr: %q\n", i, strings.ReplaceAll(q, "$site", ".*"))
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	runPromtool(t, "check", "rules", file)
}

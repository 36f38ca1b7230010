package planview_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestPlanBreaksNoWord checks that a terminal breaks no word of a plan, because no line is wider than the terminal,
// except for a line of one word. No word is lost, and a wider terminal gets the same plan as a file.
func TestPlanBreaksNoWord(t *testing.T) {
	plans := maps.Clone(reporttest.ConfigPlans())
	plans["example"], plans["large"], plans["rolling"] = reporttest.ExamplePlan(), reporttest.LargePlan(), reporttest.RollingPlan()
	for name, p := range plans {
		for _, verbose := range []bool{false, true} {
			for _, columns := range []int{40, 80, 10_000} {
				var wide, narrow strings.Builder
				if err := planview.Write(&wide, p, termtext.Style{}, verbose); err != nil {
					t.Fatal(err)
				}
				if err := planview.Write(&narrow, p, termtext.Style{Columns: columns}, verbose); err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(narrow.String()) {
					if ansi.StringWidth(strings.TrimRight(line, "\n")) > columns && len(strings.Fields(line)) > 1 {
						t.Errorf("%s: wider than %d columns: %q", name, columns, line)
					}
				}
				if got, want := strings.Join(strings.Fields(narrow.String()), " "), strings.Join(strings.Fields(wide.String()), " "); got != want {
					t.Errorf("%s: on %d columns the plan has other words:\n%s", name, columns, narrow.String())
				}
				if columns > 1000 && narrow.String() != wide.String() {
					t.Errorf("%s: a wide terminal has other lines", name)
				}
			}
		}
	}
}

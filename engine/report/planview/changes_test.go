package planview_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/planview"
	"holdfast/engine/report/reporttest"
	"holdfast/engine/report/termtext"
)

// TestWriteConfigPlan checks that plans of configurations are readable at any
// size.
func TestWriteConfigPlan(t *testing.T) {
	for name, p := range reporttest.ConfigPlans() {
		for suffix, verbose := range map[string]bool{"": false, "-verbose": true} {
			if verbose && name != "actions" && name != "drift" {
				continue
			}
			var b bytes.Buffer
			if err := planview.Write(&b, p, termtext.Style{}, verbose); err != nil {
				t.Fatal(err)
			}
			reporttest.CompareGolden(t, "plan-config-"+name+suffix, b.String())
		}
	}
}

// TestFoldedChangesTellApart checks that hosts are not folded if they differ in
// a part that the plan does not show.
func TestFoldedChangesTellApart(t *testing.T) {
	changes := reporttest.InDirectory("create", "/etc/containers/registries.d", 40)
	other := append(slices.Clone(changes[:39]), reporttest.ConfigChange("create", "file /etc/containers/registries.d/other.yaml", changes[0].Rule, reporttest.ReloadCrio))
	p := engine.Plan{Hosts: []engine.HostPlan{reporttest.HostWithChanges("worker-01", reporttest.ReloadCrio, changes...), reporttest.HostWithChanges("worker-02", reporttest.ReloadCrio, other...), reporttest.HostWithChanges("worker-03", reporttest.ReloadCrio, changes...)}}
	var b bytes.Buffer
	if err := planview.Write(&b, p, termtext.Style{}, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"worker-[01,03] (2 hosts) pool worker", "\nworker-02 pool worker"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}

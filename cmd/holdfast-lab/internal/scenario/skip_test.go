package scenario

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestSkippedScenarios: a scenario that the machine cannot run is no failure, and the output has the reason.
func TestSkippedScenarios(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.txtar")
	if err := os.WriteFile(file, []byte("[!slow-disks] skip 'slow disks need something'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for met, want := range map[bool]string{true: "1 scenarios, 0 failed", false: "1 scenarios, 0 failed, 1 skipped"} {
		run := &trial{script: script{name: "a"}}
		run.runRecovered(func() {
			testscript.RunT(run, testscript.Params{Files: []string{file}, Condition: func(string) (bool, error) { return met, nil }})
		})
		if got := countOutcomes([]*trial{run}); run.failed || got != want {
			t.Errorf("met %v: failed %v, %q, want %q", met, run.failed, got, want)
		}
		if out := run.formatOutcome(false); strings.Contains(out, "slow disks need something") == met {
			t.Errorf("met %v: %q", met, out)
		}
	}
}

// TestSlowDisksAreACondition: machines with cgroup v2 alone cannot slow disks down.
func TestSlowDisksAreACondition(t *testing.T) {
	if _, err := isMet("slow-disks"); err != nil {
		t.Error(err)
	}
	if met, err := isMet("slow-disk"); met || err == nil {
		t.Errorf("met %v, error %v", met, err)
	}
	checkGuards(t, "slow-disks", `(?m)^slow `)
}

// checkGuards checks that exactly the scenarios that need a condition are skipped where it is not met.
func checkGuards(t *testing.T, condition, need string) {
	t.Helper()
	needs := regexp.MustCompile(need)
	guarded := regexp.MustCompile(`(?m)^\[!` + condition + `\] skip .*\nlab `)
	forEachScript(t, func(s script, text []byte) {
		if needs.Match(text) != guarded.Match(text) {
			t.Errorf("%s: needs %s %v, is skipped where it is not met %v", s.name, condition, needs.Match(text), guarded.Match(text))
		}
	})
}

// TestKubernetesIsACondition: it is not built on every machine.
func TestKubernetesIsACondition(t *testing.T) {
	if _, err := isMet("kubernetes"); err != nil {
		t.Error(err)
	}
	checkGuards(t, "kubernetes", `(?m)^(lab .* kubernetes|cluster @.*)$`)
}

package scenario

import (
	"strings"
	"testing"
	"time"
)

func TestTheTableOfTimesBeginsWithTheLongest(t *testing.T) {
	trials := []*trial{
		{script: script{name: "short", lab: "plain"}, took: 20 * time.Second, hosts: 9 * time.Second},
		{script: script{name: "long", lab: "trio"}, took: 90 * time.Second, hosts: 11 * time.Second, failed: true},
	}
	lines := strings.Split(strings.TrimSpace(formatTimes(trials)), "\n")
	want := []string{"SCENARIO SECONDS UNTIL HOSTS ARE UP LAB OUTCOME", "long 90 11 trio FAILED", "short 20 9 plain ok", "together 110 20"}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); i >= len(want) || got != want[i] {
			t.Errorf("line %d: %q", i, got)
		}
	}
	if text := formatTimes(trials[:1]); text != "" {
		t.Errorf("a table of one scenario: %q", text)
	}
	if got := countOutcomes(trials); got != "2 scenarios, 1 failed" {
		t.Errorf("%q", got)
	}
}

// TestTheLogOfAScenarioIsPrintedWhole: scenarios side by side do not mix their lines.
func TestTheLogOfAScenarioIsPrintedWhole(t *testing.T) {
	one := &trial{script: script{name: "one"}, took: 1500 * time.Millisecond}
	one.Log("first")
	one.addNote("5 runs")
	one.Log("second")
	if got := one.formatOutcome(false); !strings.HasPrefix(got, "one ") || !strings.HasSuffix(got, " 1.5 s\n    5 runs\n") {
		t.Errorf("%q", got)
	}
	if got := one.formatOutcome(true); !strings.HasSuffix(got, "    5 runs\n    first\n    second\n") {
		t.Errorf("%q", got)
	}
	one.runRecovered(func() { one.Fatal("third") })
	if got := one.formatOutcome(false); !strings.Contains(got, "FAILED") || !strings.HasSuffix(got, "    second\n    third\n") {
		t.Errorf("%q", got)
	}
}

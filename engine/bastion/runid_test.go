package bastion

import (
	"regexp"
	"testing"
	"time"
)

// TestRunIDsOfOneMinuteDiffer checks that IDs have enough random bits to differ
// between runs that start in the same second on many bastions.
func TestRunIDsOfOneMinuteDiffer(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	seen := map[string]bool{}
	for range 10_000 {
		id := NewRunID(now)
		if !regexp.MustCompile(`^20260302-100000-[0-9a-f]{16,}$`).MatchString(id) || seen[id] {
			t.Fatalf("run ID %q", id)
		}
		seen[id] = true
	}
	if NewRunID(now) > NewRunID(now.Add(time.Second)) {
		t.Error("IDs do not sort by time")
	}
}

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInventoryThatTakesTooLongIsGivenUp checks that the evaluation of an
// inventory ends when its time is over, with advice.
func TestInventoryThatTakesTooLongIsGivenUp(t *testing.T) {
	file := filepath.Join(t.TempDir(), "site.hcl")
	long := `site "s" {}
locals { x = [for a in range(8) : [for b in range(1000) : jsonencode(range(9))]] }
`
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := maxEvaluation
	t.Cleanup(func() { maxEvaluation = whole })
	maxEvaluation = 10 * time.Millisecond
	a := &siteOpener{inventory: []string{file}}
	if _, err := a.loadInventory(); err == nil || !strings.Contains(err.Error(), "takes longer than") || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}

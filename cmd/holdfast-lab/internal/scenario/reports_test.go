package scenario

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReportsAreCheckedBeforeTheEnd: the journals may be on a disk that is unmounted at the end.
func TestReportsAreCheckedBeforeTheEnd(t *testing.T) {
	dir := t.TempDir()
	runs := filepath.Join(dir, "site", "runs")
	if err := os.MkdirAll(runs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs, "run.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stage{trial: &trial{}, ctx: t.Context(), cancel: func() {}, work: dir, binary: "false", ended: make(chan struct{})}
	s.last = append(s.last, func() {
		if err := os.RemoveAll(runs); err != nil {
			t.Error(err)
		}
	})
	s.end()
	if _, err := os.Stat(runs); err == nil || !s.trial.failed {
		t.Errorf("%s: %v; failed: %v", runs, err, s.trial.failed)
	}
}

package idle

import (
	"os"
	"testing"
)

func TestDiskWatchLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	w, err := WatchDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v are there, and a killed program would leave them", left, err)
	}
	longest, err := w.Stop()
	if err != nil || longest <= 0 {
		t.Errorf("longest %s, %v", longest, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

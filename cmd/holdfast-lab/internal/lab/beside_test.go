package lab

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLabsBesideStay: a lab that changes its hosts does not remove the labs that run beside it; only down does.
func TestLabsBesideStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("labs need root")
	}
	dir := t.TempDir()
	l := labIn(t, dir)
	if err := l.Claim(); err != nil {
		t.Fatal(err)
	}
	side := labIn(t, filepath.Join(dir, besideName, "2"))
	if err := side.Claim(); err != nil {
		t.Fatal(err)
	}
	if err := l.DownAlone(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(side.Dir()); err != nil {
		t.Errorf("the lab beside is gone: %v", err)
	}
	if err := l.Down(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(side.Dir())); !os.IsNotExist(err) {
		t.Errorf("the lab beside is still there: %v", err)
	}
}

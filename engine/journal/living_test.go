package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/event"
)

func newTestRun() string {
	return time.Now().UTC().Format("20060102-150405") + "-" + newIdentity()[:16]
}

// TestWhetherARunLivesDoesNotDependOnItsFolder checks a run whose journals were
// copied while it lives.
func TestWhetherARunLivesDoesNotDependOnItsFolder(t *testing.T) {
	state, run, dead := t.TempDir(), newTestRun(), newTestRun()
	end, err := MarkLiving(state, run)
	if err != nil {
		t.Fatal(err)
	}
	left := EarlierRuns{Dead: []string{run, dead}, Rebooting: map[string]string{"w-1": run, "w-2": dead}, Runs: []Run{{ID: run}, {ID: dead}}}
	left.Lost = map[string]engine.LostHost{"w-3": {Run: run}, "w-4": {Run: dead}}
	got := left.WithoutLiving(state)
	if !slices.Equal(got.Dead, []string{dead}) || got.Rebooting["w-1"] != "" || got.Rebooting["w-2"] != dead || len(got.Runs) != 1 || len(got.Lost) != 1 || got.Lost["w-4"].Run != dead {
		t.Errorf("while it lives: %+v", got)
	}
	if _, err := MarkLiving(state, run); err == nil {
		t.Error("two processes are the same run")
	}
	end()
	if got := left.WithoutLiving(state); len(got.Dead) != 2 || len(got.Rebooting) != 2 || len(got.Runs) != 2 || len(got.Lost) != 2 {
		t.Errorf("after its end: %+v", got)
	}
}

// TestALivingRunIsSeenInEveryWay checks each of the two marks alone: another
// user has no access to the file, and another container has another socket.
func TestALivingRunIsSeenInEveryWay(t *testing.T) {
	run := newTestRun()
	state := t.TempDir()
	end, err := MarkLiving(state, run)
	if err != nil {
		t.Fatal(err)
	}
	if !isLiving(t.TempDir(), run) {
		t.Error("without the file, the run counts as dead")
	}
	file := livingFile(filepath.Join(state, livingFolder), run)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("others cannot read the file: %v, %v", info, err)
	}
	end()
	other, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = unix.Flock(int(other.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !isLiving(state, run) {
		t.Error("without the socket, the run counts as dead")
	}
	if err := other.Close(); err != nil || isLiving(state, run) {
		t.Errorf("after its end, the run lives: %v", err)
	}
}

func TestLeftMarksDoNotLive(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, livingFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	killed, fresh := newTestRun(), newTestRun()
	for _, run := range []string{killed, fresh} {
		if err := os.WriteFile(livingFile(dir, run), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(livingFile(dir, killed), before, before); err != nil {
		t.Fatal(err)
	}
	if isLiving(state, killed) || isLiving(state, fresh) {
		t.Error("a file without a lock counts as a living run")
	}
	end, err := MarkLiving(state, newTestRun())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := os.Stat(livingFile(dir, killed)); err == nil {
		t.Error("the file of a killed run stays for ever")
	}
	if _, err := os.Stat(livingFile(dir, fresh)); err != nil {
		t.Errorf("the file of a run that may just begin is removed: %v", err)
	}
	if isLiving(state, "../../etc/passwd") {
		t.Error("a path counts as a run")
	}
	if err := os.Mkdir(livingFile(dir, "20260302-100000-0123456789abcdef"), 0o700); err != nil {
		t.Fatal(err)
	}
	if !isLiving(state, "20260302-100000-0123456789abcdef") {
		t.Error("a run of which nothing can be known counts as dead")
	}
}

// TestMaintenanceUnderWay: the work of a person, which has no lock of the site, is under way while its process lives.
func TestMaintenanceUnderWay(t *testing.T) {
	state, run, dead := t.TempDir(), newTestRun(), newTestRun()
	end, err := MarkLiving(state, run)
	if err != nil {
		t.Fatal(err)
	}
	list := func() []Run {
		runs := []Run{{ID: run}, {ID: dead}, {ID: run, End: &event.RunEnd{}}}
		MarkUnderWay(runs, state)
		return runs
	}
	if runs := list(); !runs[0].UnderWay || runs[1].UnderWay || runs[2].UnderWay {
		t.Errorf("%+v", runs)
	}
	end()
	if runs := list(); runs[0].UnderWay {
		t.Errorf("after its end: %+v", runs)
	}
}

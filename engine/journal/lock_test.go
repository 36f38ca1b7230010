package journal_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/engine/journal"
	"holdfast/engine/longtest"
)

const lockChild = "HOLDFAST_TEST_LOCK"

// TestMain holds the lock of a site when it runs as a child of a test.
func TestMain(m *testing.M) {
	dir := os.Getenv(lockChild)
	if dir == "" {
		longtest.TempInMemory()
		os.Exit(m.Run())
	}
	unlock, err := journal.LockSite(dir, "berlin", journal.LockInfo{Run: "r1", Holder: "ann@bastion", PID: os.Getpid()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("locked")
	time.Sleep(time.Hour) // the test kills this process earlier
	unlock()
}

// runStates returns for each run in dir, the newest first, whether it is
// active.
func runStates(t *testing.T, dir string) string {
	t.Helper()
	runs, err := journal.ListRuns(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range runs {
		list = append(list, fmt.Sprintf("%s %t", r.ID, r.UnderWay))
	}
	return strings.Join(list, ", ")
}

// TestLockSite checks that the lock is refused, with the name of the owner,
// while another process has it. After that process is killed, the lock is free.
func TestLockSite(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []string{"r0", "r1"} { // neither run has ended
		writeJournal(t, dir, run, exampleRun()[:3])
	}
	if got := runStates(t, dir); got != "r1 false, r0 false" {
		t.Errorf("before anybody has locked it: %s", got)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), lockChild+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatal(line, err)
	}
	var busy *journal.BusyError
	if _, err := journal.LockSite(dir, "berlin", journal.LockInfo{}); !errors.As(err, &busy) || busy.By.Run != "r1" || !strings.Contains(err.Error(), "ann@bastion") {
		t.Errorf("while it is locked: %v", err)
	}
	if got := runStates(t, dir); got != "r1 true, r0 false" {
		t.Errorf("while r1 has the lock: %s", got)
	}
	if unlock, err := journal.LockSite(dir, "oslo", journal.LockInfo{}); err != nil {
		t.Errorf("another site: %v", err)
	} else {
		unlock()
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if got := runStates(t, dir); got != "r1 false, r0 false" {
		t.Errorf("after r1 was killed: %s", got)
	}
	unlock, err := journal.LockSite(dir, "berlin", journal.LockInfo{Run: "r2"})
	if err != nil {
		t.Fatalf("after its holder was killed: %v", err)
	}
	if got := runStates(t, dir); got != "r1 false, r0 false" {
		t.Errorf("while a later run has the lock: %s", got)
	}
	unlock()
}

package main

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"holdfast/cmd/holdfast/internal/crash"
	"holdfast/engine"
	"holdfast/engine/longtest"
)

// faults are fatal errors of the program, by name.
var faults = map[string]func(){
	"panic": func() { panic("a nil map") },
	"panic of a goroutine": func() {
		go func() { panic("a nil map") }()
		select {}
	},
	"stack overflow": func() {
		debug.SetMaxStack(32 << 20) // the default of 1 GB takes seconds to fill
		overflowStack(make([]byte, 1<<10))
	},
	"lack of memory": func() {
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 2 << 30, Max: 2 << 30})
		var all [][]byte
		for {
			all = append(all, make([]byte, 64<<20))
			all[len(all)-1][0] = 1
		}
	},
}

//lint:ignore SA5007 to overflow the stack is its purpose
func overflowStack(b []byte) int { return overflowStack(append(b, 1)[:len(b)]) + 1 }

// TestFaultsAreNotTakenForWork checks that after a fatal error the exit code says
// nothing about the site.
func TestFaultsAreNotTakenForWork(t *testing.T) {
	const env = "TEST_FAULT"
	if name := os.Getenv(env); name != "" { // this process is the child
		crash.AbortOnFatal()
		os.Exit(int(func() (code engine.ExitCode) {
			defer crash.RecoverPanic(os.Stderr, &code)
			faults[name]()
			return engine.ExitOK
		}()))
	}
	for name := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if longtest.RaceDetector && name == "lack of memory" {
				t.Skip("the race detector needs more memory than the limit, and then ends the program itself")
			}
			child := exec.Command(os.Args[0], "-test.run=^TestFaultsAreNotTakenForWork$")
			child.Env = append(os.Environ(), env+"="+name, "TMPDIR="+t.TempDir()) // it cleans nothing up
			out, err := child.CombinedOutput()
			var ended *exec.ExitError
			if !errors.As(err, &ended) {
				t.Fatalf("it ended with %v: %s", err, out)
			}
			state := ended.Sys().(syscall.WaitStatus)
			if aborted := state.Signaled() && state.Signal() == syscall.SIGABRT; !aborted && state.ExitStatus() != int(engine.ExitFailed) {
				t.Errorf("it ended with %s", ended)
			}
			if name == "panic" && (state.Signaled() || !strings.Contains(string(out), "internal error: a nil map\nThis is a fault of holdfast")) {
				t.Errorf("it ended with %s: %s", ended, out)
			}
			if state.CoreDump() {
				t.Error("it left a core file")
			}
		})
	}
}

// Package crash ends the program after a fault, with an exit code that nobody takes for a result.
package crash

import (
	"fmt"
	"os"
	"runtime/debug"
	"syscall"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// AbortOnFatal makes fatal errors of the Go runtime, such as a stack overflow,
// lack of memory or an unrecovered panic, end the process with SIGABRT. Without
// it, Go would exit with 2, which means in holdfast that there is work to do.
// AbortOnFatal also prevents core files, which could contain secrets.
func AbortOnFatal() {
	debug.SetTraceback("crash")
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_CORE, &limit) == nil {
		limit.Cur = 0
		_ = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit) // a limit can always be lowered
	}
}

// RecoverPanic turns a panic into an exit code. It must be deferred.
func RecoverPanic(stderr *os.File, code *engine.ExitCode) {
	fault := recover()
	if fault == nil {
		return
	}
	fmt.Fprintf(stderr, "holdfast: internal error: %s\nThis is a fault of holdfast, please report it. Holds stay, and the next run goes on from here.\n%s",
		textutil.Printable(fmt.Sprint(fault)), debug.Stack())
	*code = engine.ExitFailed
}

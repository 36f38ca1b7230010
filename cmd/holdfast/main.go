// Command holdfast is a declarative reconciler for ostree-based bare-metal hosts,
// run as a job. It reads an inventory, gathers facts of the hosts over SSH, and
// plans the least disruptive way to make the hosts match. Then it rolls the
// changes out in batches that never cost an etcd cluster its quorum.
//
// This package connects the other packages: flags, adapters, exit codes. Each
// command has one file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	_ "time/tzdata" // maintenance windows name time zones, and some bastions have no zone files; zone files of the system take precedence

	"holdfast/cmd/holdfast/internal/crash"
	"holdfast/engine"
	"holdfast/engine/input"
	"holdfast/engine/maintenance"
	"holdfast/engine/textutil"
)

// exitError ends the program with an exit code. The program prints the error, if
// there is one.
type exitError struct {
	code engine.ExitCode
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func exitWith(code engine.ExitCode) error {
	if code == engine.ExitOK {
		return nil
	}
	return &exitError{code: code}
}

func failWith(code engine.ExitCode, err error) error { return &exitError{code: code, err: err} }

// errDeclined ends a command after "no" to its question.
var errDeclined = failWith(engine.ExitStopped, errors.New("stopped: nothing was changed"))

func run(args []string, stdin *os.File, stdout, stderr *os.File) (code engine.ExitCode) {
	defer crash.RecoverPanic(stderr, &code)
	waits := &input.Waits{}
	signals := catchSignals(stderr, waits)
	defer signals.stop()
	app := &app{gently: signals.gently}
	app.console = console{stdin: stdin, stdout: stdout, stderr: stderr, soft: signals.soft, hard: signals.hard, waits: waits, messages: signals.messages}
	cmd := app.rootCommand()
	cmd.SetArgs(args)
	cmd.SetIn(stdin)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(signals.hard)
	code = exitCodeOf(signals.hard, err)
	if needsMessage(signals.hard, err) {
		printError(stderr, err)
	}
	app.waitForReader()
	return code
}

// exitCodeOf returns the exit code of a command that ended with an error, or nil.
// hard has ended if a person stopped the command at once.
func exitCodeOf(hard context.Context, err error) engine.ExitCode {
	var e *exitError
	var failure *engine.Failure
	switch {
	case err == nil:
		return engine.ExitOK
	case hard.Err() != nil, errors.Is(err, context.Canceled):
		return engine.ExitStopped
	case errors.As(err, &e):
		return e.code
	case errors.As(err, &failure):
		return maintenance.ExitOf(*failure)
	case slices.ContainsFunc(bastionFailures, func(number syscall.Errno) bool { return errors.Is(err, number) }):
		return engine.ExitFailed
	}
	return engine.ExitUsage
}

// bastionFailures are errors of this machine, for which no argument and no configuration is to blame.
var bastionFailures = []syscall.Errno{syscall.EIO, syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EPIPE, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.ESTALE}

// needsMessage reports whether the error of a command is worth printing. If the person has ended everything at once, the
// errors are the consequences.
func needsMessage(hard context.Context, err error) bool {
	var e *exitError
	chosen := errors.As(err, &e)
	switch {
	case err == nil, chosen && e.err == nil:
		return false
	case exitCodeOf(hard, err) == engine.ExitStopped:
		return hard.Err() == nil && chosen && e.code == engine.ExitStopped
	}
	return true
}

// printError escapes the text, because an error may quote a host or a registry.
func printError(stderr *os.File, err error) {
	fmt.Fprintln(stderr, "holdfast:", textutil.Printable(err.Error()))
}

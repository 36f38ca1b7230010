package scenario

import (
	"io"
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/terminal"
)

// cmdTerminal starts holdfast on a terminal, as a person does.
func cmdTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal NAME [--site DIR] ARGUMENT…")
	}
	s := stageOf(ts)
	person, tty, err := terminal.OpenPair()
	ts.Check(err)
	j := s.newJob(ts, args[1:])
	j.person, j.out.screen = person, &terminal.Screen{}
	j.cmd.Env = append(j.cmd.Env, "TERM=xterm", "CI=", "NO_COLOR=")
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = tty, tty, tty
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = s.Lab.Start(j.cmd)
	_ = tty.Close() // the job has it
	if err != nil {
		_ = person.Close()
	}
	ts.Check(err)
	s.jobs[args[0]] = j
	go func() {
		_, _ = io.Copy(&j.out, person) // ends with an error when no process has the terminal open any more
		j.err = j.cmd.Wait()
		_ = person.Close()
		close(j.done)
	}()
}

// cmdType types a line.
func cmdType(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "type NAME TEXT")
	j := stageOf(ts).findJob(ts, args[0])
	if j.person == nil {
		ts.Fatalf("%s has no terminal", args[0])
	}
	_, err := j.person.WriteString(args[1] + "\n")
	ts.Check(err)
}

// cmdScreen saves the output of a job until now, and thus what its terminal shows.
func cmdScreen(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "screen NAME")
	text, _ := stageOf(ts).findJob(ts, args[0]).out.textSoFar()
	ts.Logf("[the screen of %s]\n%s", args[0], text)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".screen"), []byte(text), 0o600))
}

package scenario

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"holdfast/cmd/holdfast-lab/internal/terminal"
)

// holdfastCommand uses the inventory of the site, or of DIR if args start with "--site DIR".
func (s *stage) holdfastCommand(args []string) []string {
	site := "site"
	if len(args) > 1 && args[0] == "--site" {
		site, args = args[1], args[2:]
	}
	argv := append([]string{s.binary}, args...)
	return append(argv, "-i", site+"/inventory.hcl")
}

// cmdHoldfast checks the exit code. "0|3" allows either code.
func cmdHoldfast(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: holdfast CODE [--site DIR] ARGUMENT…")
	}
	s := stageOf(ts)
	argv := append([]string{"--dir", s.Lab.Dir(), "exec", "--"}, s.holdfastCommand(args[1:])...)
	err := ts.Exec(s.Self, argv...)
	if got := strconv.Itoa(exitCode(ts, err)); !slices.Contains(strings.Split(args[0], "|"), got) {
		ts.Fatalf("exit code %s, not %s", got, args[0])
	}
}

// cmdInside runs a program of the bastion inside the lab's network.
func cmdInside(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: inside COMMAND [ARGUMENT…]")
	}
	s := stageOf(ts)
	ts.Check(ts.Exec(s.Self, append([]string{"--dir", s.Lab.Dir(), "exec", "--"}, args...)...))
}

func exitCode(ts *testscript.TestScript, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	ts.Fatalf("run holdfast: %v", err)
	return -1
}

// job is a holdfast process that runs while the script continues.
type job struct {
	cmd  *exec.Cmd
	out  output
	done chan struct{}
	// person is the other end of the job's terminal, or nil.
	person *os.File
	err    error
}

// output is the stdout and stderr of a job until now, or what its terminal shows.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	screen *terminal.Screen // nil without a terminal
	more   chan struct{}    // closed when more output arrives
}

// Write appends output.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more != nil {
		close(o.more)
		o.more = nil
	}
	if o.screen != nil {
		return o.screen.Write(p)
	}
	return o.text.Write(p)
}

func (o *output) textSoFar() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.more == nil {
		o.more = make(chan struct{})
	}
	if o.screen != nil {
		return o.screen.Text(), o.more
	}
	return o.text.String(), o.more
}

func (j *job) killAndWait() {
	_ = j.cmd.Process.Kill() // the process may have ended
	<-j.done
}

func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: start NAME [--site DIR] ARGUMENT…")
	}
	s := stageOf(ts)
	j := s.newJob(ts, args[1:])
	j.cmd.Stdout, j.cmd.Stderr = &j.out, &j.out
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A command of the inventory may outlive a killed holdfast, and keeps its
	// output open.
	j.cmd.WaitDelay = time.Second
	ts.Check(s.Lab.Start(j.cmd))
	s.jobs[args[0]] = j
	go func() {
		j.err = j.cmd.Wait()
		close(j.done)
	}()
}

// newJob returns a job that runs holdfast with these arguments.
func (s *stage) newJob(ts *testscript.TestScript, args []string) *job {
	argv := s.holdfastCommand(args)
	j := &job{cmd: exec.CommandContext(s.ctx, argv[0], argv[1:]...), done: make(chan struct{})}
	j.cmd.Dir = ts.MkAbs(".")
	j.cmd.Env = os.Environ()
	for _, name := range []string{"HOME", "XDG_STATE_HOME"} { // the identity of the bastion is below these folders
		j.cmd.Env = append(j.cmd.Env, name+"="+ts.Getenv(name))
	}
	return j
}

func (s *stage) findJob(ts *testscript.TestScript, name string) *job {
	j := s.jobs[name]
	if j == nil {
		ts.Fatalf("nothing was started as %s", name)
	}
	return j
}

func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "await NAME REGEXP")
	s := stageOf(ts)
	j := s.findJob(ts, args[0])
	want, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	for {
		text, more := j.out.textSoFar()
		if want.MatchString(text) {
			return
		}
		select {
		case <-more:
		case <-j.done:
			if text, _ := j.out.textSoFar(); want.MatchString(text) {
				return
			}
			text, _ := j.out.textSoFar()
			ts.Fatalf("%s ended without printing %s; it printed:\n%s", args[0], args[1], text)
		case <-s.ctx.Done():
			ts.Fatalf("%s never printed %s; it printed:\n%s", args[0], args[1], text)
		}
	}
}

var signals = map[string]os.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}

func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "signal NAME INT|TERM|KILL")
	j := stageOf(ts).findJob(ts, args[0])
	signal, ok := signals[args[1]]
	if !ok {
		ts.Fatalf("no signal %s", args[1])
	}
	ts.Check(j.cmd.Process.Signal(signal))
	if signal == syscall.SIGKILL {
		<-j.done
	}
}

func cmdFinish(ts *testscript.TestScript, neg bool, args []string) {
	requireArgs(ts, neg, args, "finish NAME CODE")
	s := stageOf(ts)
	j := s.findJob(ts, args[0])
	<-j.done
	text, _ := j.out.textSoFar()
	ts.Logf("[%s printed]\n%s", args[0], text)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]+".out"), []byte(text), 0o600))
	if got := strconv.Itoa(j.cmd.ProcessState.ExitCode()); !slices.Contains(strings.Split(args[1], "|"), got) {
		ts.Fatalf("%s: exit code %s, not %s", args[0], got, args[1])
	}
	delete(s.jobs, args[0])
}

package bastion

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
)

// maxOutput limits each stream of a bastion command, in bytes.
const maxOutput = 1 << 20

// Commands runs the commands of the inventory, such as drains, gates and hooks.
type Commands struct {
	Dir     string           // folder of the inventory
	Secrets textutil.Secrets // hidden in errors of commands
	grace   time.Duration    // time for processes to end, and for output after the end of the command; 0: 5 s

	filterTime time.Duration // time for a filter; 0: 1 minute
}

// Run runs a command with sh in the inventory's folder, in a process group of
// its own, so that Ctrl-C in the terminal reaches only holdfast. When the context ends, all
// processes of the group get SIGTERM, and SIGKILL after the grace.
// Processes that a successful command leaves behind continue, and their later
// output is lost.
func (b Commands) Run(ctx context.Context, command string, env []string) (rollout.Reply, error) {
	return b.RunWithInput(ctx, command, env, nil)
}

// RunWithInput is Run with a text on standard input. A command need not read it.
func (b Commands) RunWithInput(ctx context.Context, command string, env []string, input []byte) (rollout.Reply, error) {
	cmd := shellCommand(ctx, command)
	if input != nil {
		cmd.Stdin = bytes.NewReader(input)
	}
	cmd.Dir = b.Dir
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bounded
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := runGroup(cmd, cmp.Or(b.grace, bastionGrace))
	reply := rollout.Reply{Stdout: stdout.String(), Stderr: b.Secrets.HideOutput(stderr.String(), stderr.cut)}
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return reply, context.Cause(ctx)
	case errors.As(err, &status):
		reply.Code = status.ExitCode()
		return reply, nil
	case errors.Is(err, exec.ErrWaitDelay) && cmd.ProcessState.Success():
		return reply, nil
	}
	return reply, err
}

// bastionGrace is the time for a command to end after SIGTERM, and for its
// output to end after the command.
const bastionGrace = 5 * time.Second

// runGroup runs a command that leads a process group. When the context of the
// command ends, runGroup sends SIGTERM to all processes of the group, and
// SIGKILL after the grace. It then returns, even if a process that left the
// group keeps the output open.
func runGroup(cmd *exec.Cmd, grace time.Duration) error {
	var until time.Time
	cmd.Cancel = func() error {
		until = time.Now().Add(grace)
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = grace
	err := cmd.Run()
	if !until.IsZero() {
		endGroup(cmd.Process.Pid, until)
	}
	return err
}

func endGroup(group int, until time.Time) {
	const pause = 20 * time.Millisecond
	for time.Now().Before(until) && syscall.Kill(-group, 0) == nil {
		time.Sleep(pause)
	}
	_ = syscall.Kill(-group, syscall.SIGKILL) // the group may have no processes left
}

// shellCommand returns a command that runs a text of the inventory with sh. The
// text may contain a secret, so it is not an argument: every user of the
// bastion can read the arguments of a process.
func shellCommand(ctx context.Context, command string) *exec.Cmd {
	const variable = "HOLDFAST_COMMAND"
	cmd := exec.CommandContext(ctx, "sh", "-c", "set -- \"$"+variable+"\"; unset "+variable+"; eval \"shift; $1\"")
	cmd.Env = append(os.Environ(), variable+"="+command)
	return cmd
}

// bounded keeps the beginning of a stream and drops the rest. The buffer is not embedded, because io.Copy would use its
// ReadFrom, which has no bound.
type bounded struct {
	kept bytes.Buffer
	cut  bool // something was dropped
}

// Write keeps the part of p that fits, and reports all of p as written.
func (b *bounded) Write(p []byte) (int, error) {
	room := max(0, maxOutput-b.kept.Len())
	b.cut = b.cut || len(p) > room
	_, _ = b.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}

func (b *bounded) Bytes() []byte { return b.kept.Bytes() }

func (b *bounded) String() string { return b.kept.String() }

package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// commandConn is the connection that a ProxyCommand makes: its standard input and output.
type commandConn struct {
	net.Conn
	cmd    *exec.Cmd
	stderr commandOutput
	cancel context.CancelFunc
	finish func() error // waits for the end of the command, once
}

// commandGrace is the time for a ProxyCommand to end after SIGHUP, the signal that ssh sends it.
const commandGrace = 2 * time.Second

// startProxyCommand runs a command as ssh does: with the user's shell, which it replaces. The command leads a process group, so
// that Ctrl-C in the terminal reaches only holdfast.
func startProxyCommand(command string) (*commandConn, error) {
	ours, theirs, err := connectedPair()
	if err != nil {
		return nil, fmt.Errorf("make a pair of sockets: %w", err)
	}
	defer func() { _ = theirs.Close() }() // the command has it
	ctx, cancel := context.WithCancel(context.Background())
	c := &commandConn{Conn: ours, cancel: cancel}
	c.cmd = exec.CommandContext(ctx, cmp.Or(os.Getenv("SHELL"), "/bin/sh"), "-c", "exec "+command)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs, theirs, &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Cancel = func() error { return syscall.Kill(-c.cmd.Process.Pid, syscall.SIGHUP) }
	c.cmd.WaitDelay = commandGrace
	if err := c.cmd.Start(); err != nil {
		cancel()
		_ = ours.Close()
		return nil, err
	}
	c.finish = sync.OnceValue(c.endCommand)
	return c, nil
}

func connectedPair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	conn, err := net.FileConn(ours) // it has a copy
	_ = ours.Close()
	if err != nil {
		_ = theirs.Close()
	}
	return conn, theirs, err
}

// Close ends the connection and all processes of the command.
func (c *commandConn) Close() error {
	err := c.Conn.Close()
	c.cancel()
	_ = c.finish() // its status counts only where the login fails
	return err
}

// endCommand waits for the command, and then ends the processes that it has left in its group.
func (c *commandConn) endCommand() error {
	err := c.cmd.Wait()
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // the group may have no processes left
	return err
}

// describeFailure returns why the command made no connection. The connection is closed.
func (c *commandConn) describeFailure(ep endpoint, late bool) error {
	text := "no SSH greeting came through it"
	switch s := c.cmd.ProcessState; {
	case late:
		text += fmt.Sprintf(" within %s", ep.ConnectTimeout)
	case s != nil && s.Exited():
		text += ", and it ended with " + s.String()
	}
	if output := oneLine(c.stderr.String()); output != "" {
		text += ": " + output
	}
	return errors.New(text)
}

// commandOutput keeps the end of the standard error of a command.
type commandOutput struct {
	mu   sync.Mutex
	tail []byte
}

// maxCommandOutput bounds the kept standard error of a ProxyCommand, in bytes.
const maxCommandOutput = 400

// Write keeps the last bytes, and reports all of p as written.
func (o *commandOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail = append(o.tail, p...)
	o.tail = o.tail[max(0, len(o.tail)-maxCommandOutput):]
	return len(p), nil
}

func (o *commandOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.tail)
}

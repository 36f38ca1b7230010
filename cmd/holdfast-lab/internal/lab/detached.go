package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// startDetached starts a hidden command of this program inside the lab's network,
// and does not wait for it. The command has its own session and private mounts,
// and is adopted by process 1. Its output goes to log.
func (l *Lab) startDetached(ctx context.Context, log string, args ...string) error {
	program, err := l.self()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = f.Close() }()
	cmd := exec.CommandContext(ctx, "setsid", append([]string{"--fork", program, "--dir", l.dir}, args...)...)
	cmd.Stdout, cmd.Stderr = f, f
	cmd.Dir = "/"
	cmd.SysProcAttr = &unix.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	if err := l.Start(cmd); err != nil {
		return err
	}
	return cmd.Wait()
}

// programName is the copy of this program in the lab.
const programName = "bin/holdfast-lab"

// installSelf copies the running program into the lab, because "go run" removes
// the program that it has built.
func (l *Lab) installSelf() (string, error) {
	target := l.path(programName)
	own, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("copy own program: %w", err)
	}
	have, err := os.ReadFile(target)
	if err == nil && bytes.Equal(own, have) {
		return target, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("copy own program: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("copy own program: %w", err)
	}
	part := fmt.Sprintf("%s.%d", target, os.Getpid())
	if err := os.WriteFile(part, own, 0o755); err != nil {
		return "", fmt.Errorf("copy own program: %w", err)
	}
	return target, os.Rename(part, target)
}

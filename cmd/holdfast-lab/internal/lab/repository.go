package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/serve"
	"holdfast/cmd/holdfast-lab/internal/spec"
	"holdfast/engine/clock"
)

// repoAddress is the address of the repository for hosts.
const repoAddress = spec.Gateway + ":8080"

// serveName is the file that the server has locked. It has the limit and the process ID of the server.
const serveName = "serve.lock"

// Serve serves the repository to the hosts. All of them together get
// bytesPerSecond; zero means no limit. Serve replaces a running server, unless it
// has the same limit.
func (l *Lab) Serve(ctx context.Context, bytesPerSecond int) error {
	want := strconv.Itoa(bytesPerSecond)
	if have, pid := l.findServer(); pid != 0 && have == want {
		return nil
	}
	if err := l.StopServing(ctx); err != nil {
		return err
	}
	if err := l.startDetached(ctx, l.path("serve.log"), "serve", want); err != nil {
		return fmt.Errorf("serve repository: %w", err)
	}
	return l.waitServer(ctx)
}

func (l *Lab) waitServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := l.DialContext(ctx, "tcp", repoAddress)
		if err == nil {
			return conn.Close()
		}
		if pauseErr := clock.Sleep(ctx, 10*time.Millisecond); pauseErr != nil {
			return fmt.Errorf("serve repository: %w", errors.Join(err, pauseErr))
		}
	}
}

// StopServing makes the repository unreachable.
func (l *Lab) StopServing(ctx context.Context) error {
	_, pid := l.findServer()
	if pid == 0 {
		return nil
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop serving: %w", err)
	}
	for {
		if _, pid := l.findServer(); pid == 0 {
			return nil
		}
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("stop serving: %w", err)
		}
	}
}

func (l *Lab) claimServer(bytesPerSecond int) (io.Closer, error) {
	f, err := l.claimFile(serveName, fmt.Sprintln(bytesPerSecond, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("claim server: %w", err)
	}
	return f, nil
}

// ServeHere serves the repository in the calling process until ctx ends. The
// process must be inside the lab's network.
func (l *Lab) ServeHere(ctx context.Context, bytesPerSecond int) error {
	claim, err := l.claimServer(bytesPerSecond)
	if err != nil {
		return err
	}
	return errors.Join(serve.Run(ctx, repoAddress, l.imageStore().Repo(), bytesPerSecond), claim.Close())
}

// findServer returns the process ID 0 if no server runs.
func (l *Lab) findServer() (limit string, pid int) {
	f, err := l.openOwnFile(serveName, os.O_RDONLY)
	if err != nil {
		return "", 0
	}
	defer func() { _ = f.Close() }()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == nil {
		return "", 0
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxClaim))
	if err != nil {
		return "", 0
	}
	limit, number, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	pid, _ = strconv.Atoi(number)
	return limit, pid
}

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

	"holdfast/engine/clock"
)

// service is a server in the lab's network, which runs as a process of its own.
type service struct {
	name    string   // for errors
	claim   string   // the file that it has locked, with its setting and its process ID
	log     string   // the file of its output
	address string   // where it listens
	command []string // of this program
}

// startService starts a service, and waits until it accepts connections. It does nothing if the service runs.
func (l *Lab) startService(ctx context.Context, s service) error {
	if _, pid := l.findService(s); pid != 0 {
		return nil
	}
	if err := l.startDetached(ctx, l.path(s.log), s.command...); err != nil {
		return fmt.Errorf("serve %s: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		conn, err := l.DialContext(ctx, "tcp", s.address)
		if err == nil {
			return conn.Close()
		}
		if pauseErr := clock.Sleep(ctx, 10*time.Millisecond); pauseErr != nil {
			return fmt.Errorf("serve %s: %w", s.name, errors.Join(err, pauseErr))
		}
	}
}

func (l *Lab) stopService(ctx context.Context, s service) error {
	_, pid := l.findService(s)
	if pid == 0 {
		return nil
	}
	if err := unix.Kill(pid, unix.SIGTERM); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop serving %s: %w", s.name, err)
	}
	for {
		if _, pid := l.findService(s); pid == 0 {
			return nil
		}
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return fmt.Errorf("stop serving %s: %w", s.name, err)
		}
	}
}

// claimService shows that the calling process is the service, until the result is closed. The setting is what findService returns.
func (l *Lab) claimService(s service, setting string) (io.Closer, error) {
	f, err := l.claimFile(s.claim, fmt.Sprintf("%s %d\n", setting, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("claim server of %s: %w", s.name, err)
	}
	return f, nil
}

// findService returns the process ID 0 if the service does not run.
func (l *Lab) findService(s service) (setting string, pid int) {
	f, err := l.openOwnFile(s.claim, os.O_RDONLY)
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
	setting, number, _ := strings.Cut(strings.TrimSuffix(string(raw), "\n"), " ")
	pid, _ = strconv.Atoi(number)
	return setting, pid
}

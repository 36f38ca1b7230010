package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// useName is the file that a command which uses the hosts has locked. It names the command.
const useName = "use.lock"

// Reserve keeps other commands from making, changing and removing the hosts until release is called or the process ends.
// It fails at once if another command has reserved the lab. use names the command, such as "test".
func (l *Lab) Reserve(use string) (release func(), err error) {
	if err := l.Claim(); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(l.path(useName), os.O_CREATE|os.O_RDWR|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("reserve lab: %w", err)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		other, _ := io.ReadAll(io.LimitReader(f, 200)) // only for the message
		err = fmt.Errorf("%s is in use by holdfast-lab %s; wait for its end, or name another folder with --dir", l.dir, bytes.TrimSpace(other))
	}
	if err == nil {
		err = errors.Join(f.Truncate(0), writeUse(f, use))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserve lab: %w", err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

func writeUse(f *os.File, use string) error {
	_, err := fmt.Fprintf(f, "%s (process %d)\n", use, os.Getpid())
	return err
}

package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"holdfast/engine/textutil"
)

// maxClaim bounds the bytes that are read of a claimed file.
const maxClaim = 200

// claimedError means that another process has claimed the file.
type claimedError struct{ text string } // text is the content of the file, which the other process wrote

func (e *claimedError) Error() string { return "another process has claimed it: " + e.text }

// openOwnFile opens a file of the lab, and makes it if it is missing. It fails if the file itself is a symbolic link:
// root must not change a file that somebody else has chosen. It follows links among the parent folders.
func (l *Lab) openOwnFile(name string) (*os.File, error) {
	return os.OpenFile(l.path(name), os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
}

// claimFile locks a file of the lab until the result is closed or the process ends, and makes text its content. If another
// process has locked it, claimFile fails at once with a [claimedError].
func (l *Lab) claimFile(name, text string) (io.Closer, error) {
	f, err := l.openOwnFile(name)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		other, _ := io.ReadAll(io.LimitReader(f, maxClaim)) // only for the message
		err = &claimedError{textutil.Printable(strings.TrimSpace(string(other)))}
	}
	if err == nil {
		err = replaceText(f, text)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func replaceText(f *os.File, text string) error {
	if err := f.Truncate(0); err != nil {
		return fmt.Errorf("claim %s: %w", f.Name(), err)
	}
	_, err := f.WriteString(text)
	return err
}

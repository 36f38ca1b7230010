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

// openOwnFile opens a file of the lab with these flags. It fails if the file itself is a symbolic link, a pipe or a device: root
// must not change a file that somebody else has chosen, nor wait for one. It follows links among the parent folders.
func (l *Lab) openOwnFile(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(l.path(name), flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file; remove it", f.Name())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// claimFile locks a file of the lab until the result is closed or the process ends, and makes text its content. If another
// process has locked it, claimFile fails at once with a [claimedError].
func (l *Lab) claimFile(name, text string) (io.Closer, error) {
	f, err := l.openOwnFile(name, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		other, _ := io.ReadAll(io.LimitReader(f, maxClaim)) // only for the message
		err = &claimedError{textutil.Printable(strings.TrimSpace(string(other)))}
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

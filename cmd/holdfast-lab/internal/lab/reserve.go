package lab

import (
	"errors"
	"fmt"
	"os"
)

// useName is the file that a command which uses the hosts has locked. It names the command.
const useName = "use.lock"

// Reserve keeps other commands from making, changing and removing the hosts until release is called or the process ends.
// It fails at once if another command has reserved the lab. use names the command, such as "test".
func (l *Lab) Reserve(use string) (release func(), err error) {
	if err := l.Claim(); err != nil {
		return nil, err
	}
	f, err := l.claimFile(useName, fmt.Sprintf("%s (process %d)\n", use, os.Getpid()))
	if claimed, ok := errors.AsType[*claimedError](err); ok {
		err = fmt.Errorf("%s is in use by holdfast-lab %s; wait for its end, or name another folder with --dir", l.dir, claimed.text)
	}
	if err != nil {
		return nil, fmt.Errorf("reserve lab: %w", err)
	}
	return func() { _ = f.Close() }, nil
}

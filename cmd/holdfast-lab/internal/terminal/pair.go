// Package terminal has a terminal for programs under test: its device and its screen.
package terminal

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// rows and columns are the size of the terminal.
const rows, columns = 24, 80

// OpenPair returns a terminal of 24 lines and 80 columns for a program, and its other end, which a person would use.
func OpenPair() (person, tty *os.File, err error) {
	if person, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		return nil, nil, fmt.Errorf("open terminal: %w", err)
	}
	number, err := unlockPair(person)
	if err == nil {
		tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("open terminal: %w", err), person.Close())
	}
	return person, tty, nil
}

func unlockPair(person *os.File) (number int, err error) {
	raw, err := person.SyscallConn() // unlike Fd, this leaves the file in its mode, so that Close ends a Read
	if err != nil {
		return 0, err
	}
	controlErr := raw.Control(func(fd uintptr) {
		if err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); err != nil {
			return
		}
		if err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err == nil {
			number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	return number, errors.Join(err, controlErr)
}

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// Requests that read and write the mode of a terminal.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)

func flushInput(fd int) error {
	const reading = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, reading)
}

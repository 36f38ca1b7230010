//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package terminal

import "golang.org/x/sys/unix"

// These requests read and write the mode of a terminal.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)

func flushInput(fd int) error {
	const reading = 1 // FREAD of sys/fcntl.h
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, reading)
}

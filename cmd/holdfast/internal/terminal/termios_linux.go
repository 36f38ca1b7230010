package terminal

import "golang.org/x/sys/unix"

// These requests read and write the mode of a terminal.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)

func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package main

import "golang.org/x/sys/unix"

// How a terminal's mode is read and written.
const (
	readTermios  = unix.TIOCGETA
	writeTermios = unix.TIOCSETA
)

// flushInput drops what was typed at a terminal and not read yet.
func flushInput(fd int) error {
	const reading = 1 // FREAD
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, reading)
}

package main

import "golang.org/x/sys/unix"

// How a terminal's mode is read and written.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)

// flushInput drops what was typed at a terminal and not read yet.
func flushInput(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }

package main

import "golang.org/x/sys/unix"

// How a terminal's mode is read and written.
const (
	readTermios  = unix.TCGETS
	writeTermios = unix.TCSETS
)

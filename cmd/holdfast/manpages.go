//go:build man

package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"holdfast/cmd/holdfast/internal/man"
)

// main writes the man pages instead, so that the program itself does not contain their
// generator: go run -tags man ./cmd/holdfast FOLDER SECONDS VERSION.
func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: FOLDER SECONDS VERSION; the pages have the date of the Unix time SECONDS")
		os.Exit(1)
	}
	seconds, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err == nil {
		err = man.Write((&app{}).rootCommand(), os.Args[1], "holdfast "+os.Args[3], time.Unix(seconds, 0).UTC())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

//go:build !man

package main

import (
	"os"

	"holdfast/cmd/holdfast/internal/crash"
	"holdfast/engine/bastion"
)

func main() {
	crash.AbortOnFatal()
	bastion.CompleteEnvironment()
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

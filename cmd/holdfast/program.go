//go:build !man

package main

import (
	"os"

	"holdfast/cmd/holdfast/internal/crash"
	"holdfast/cmd/holdfast/internal/heap"
	"holdfast/engine/bastion"
)

func main() {
	crash.AbortOnFatal()
	heap.CollectRarely()
	bastion.CompleteEnvironment()
	os.Exit(int(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)))
}

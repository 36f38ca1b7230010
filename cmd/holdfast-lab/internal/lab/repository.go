package lab

import (
	"context"
	"errors"
	"strconv"

	"holdfast/cmd/holdfast-lab/internal/serve"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// repoAddress is the address of the repository for hosts.
const repoAddress = spec.Gateway + ":8080"

// serveName is the file that the server has locked. It has the limit and the process ID of the server.
const serveName = "serve.lock"

func repositoryService(limit string) service {
	return service{name: "repository", claim: serveName, log: "serve.log", address: repoAddress, command: []string{"serve", limit}}
}

// Serve serves the repository to the hosts. All of them together get
// bytesPerSecond; zero means no limit. Serve replaces a running server, unless it
// has the same limit.
func (l *Lab) Serve(ctx context.Context, bytesPerSecond int) error {
	s := repositoryService(strconv.Itoa(bytesPerSecond))
	if have, pid := l.findService(s); pid != 0 && have == s.command[1] {
		return nil
	}
	if err := l.stopService(ctx, s); err != nil {
		return err
	}
	return l.startService(ctx, s)
}

// StopServing makes the repository unreachable.
func (l *Lab) StopServing(ctx context.Context) error {
	return l.stopService(ctx, repositoryService(""))
}

// ServeHere serves the repository in the calling process until ctx ends. The
// process must be inside the lab's network.
func (l *Lab) ServeHere(ctx context.Context, bytesPerSecond int) error {
	limit := strconv.Itoa(bytesPerSecond)
	claim, err := l.claimService(repositoryService(limit), limit)
	if err != nil {
		return err
	}
	return errors.Join(serve.Run(ctx, repoAddress, l.imageStore().Repo(), bytesPerSecond), claim.Close())
}

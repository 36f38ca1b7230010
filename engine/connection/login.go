package connection

import (
	"context"
	"errors"
	"slices"

	"holdfast/engine"
	"holdfast/engine/remote"
	"holdfast/engine/rollout"
)

// Login runs a script on a new connection to a host. Any failure of the connection itself
// has the kind engine.UnreachableFailure.
func (h *Hosts) Login(ctx context.Context, host engine.Host, s rollout.Script) (rollout.Reply, error) {
	if h.isClosed() {
		return rollout.Reply{}, errClosed
	}
	c, err := h.dialer.Dial(ctx, TargetOf(host))
	if err != nil {
		return rollout.Reply{}, asUnreachable(withoutHost(err))
	}
	defer func() { _ = c.Close() }() // the answer is there, so the error does not matter
	reply, err := conn{c, host.Name, h.contents, h.secrets}.Run(ctx, s)
	return reply, asUnreachable(err)
}

func asUnreachable(err error) error {
	f := new(engine.Failure)
	if !errors.As(err, &f) || !slices.Contains([]string{remote.Refused.String(), remote.Lost.String(), remote.Timeout.String()}, string(f.Kind)) {
		return err
	}
	same := *f
	same.Kind = engine.UnreachableFailure
	return &same
}

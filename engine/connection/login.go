package connection

import (
	"context"
	"errors"
	"slices"

	"holdfast/engine"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/rollout"
)

// Login runs a script on a new connection to a host. Any failure of the connection itself
// has the kind engine.UnreachableFailure.
func (h *Hosts) Login(ctx context.Context, host engine.Host, s rollout.Script) (rollout.Reply, error) {
	c, err := h.visitHost(ctx, host, h.dialer.Dial)
	if err != nil {
		return rollout.Reply{}, asUnreachable(err)
	}
	reply, err := c.Run(ctx, s)
	return reply, asUnreachable(err)
}

// Visits are Hosts for a command that runs one script on each host, and changes nothing: Connect opens a new connection, and
// the end of the script closes it. A kept connection costs 30 KB or more, which counts on a site of 10,000 hosts. Connections
// to hosts of etcd clusters are kept, because the clusters are asked through them.
type Visits struct{ *Hosts }

// Connect opens a connection to a host.
func (v Visits) Connect(ctx context.Context, host engine.Host) (rollout.Conn, error) {
	if host.Cluster != "" {
		return v.Hosts.Connect(ctx, host)
	}
	return v.visitHost(ctx, host, v.dialer.DialVisit)
}

// visitHost opens a new connection, which the end of its script closes.
func (h *Hosts) visitHost(ctx context.Context, host engine.Host, dial func(context.Context, sshconfig.Target) (*remote.Host, error)) (rollout.Conn, error) {
	if h.isClosed() {
		return nil, errClosed
	}
	c, err := dial(ctx, TargetOf(host))
	if err != nil {
		return nil, withoutHost(err)
	}
	return visit{conn{c, host.Name, h.contents, h.secrets}}, nil
}

// visit is a connection for one script.
type visit struct{ conn }

// Run runs the script on the host as root, and closes the connection.
func (v visit) Run(ctx context.Context, s rollout.Script) (rollout.Reply, error) {
	defer func() { _ = v.host.Close() }() // the answer is there, so the error does not matter
	return v.conn.Run(ctx, s)
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

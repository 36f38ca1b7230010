package rollout

import (
	"context"
	"errors"
	"fmt"

	"holdfast/engine"
)

// hostAccess runs scripts on the hosts of a run, and commands about them on the bastion.
type hostAccess struct {
	*Options
	*Ports
}

func newHostAccess(r *Run) hostAccess { return hostAccess{&r.Options, &r.Ports} }

func (a hostAccess) connectHost(ctx context.Context, host string) (Conn, error) {
	h, ok := a.Inventory.Host(host)
	if !ok {
		return nil, fmt.Errorf("no host %q in the inventory", host)
	}
	return a.Hosts.Connect(ctx, h)
}

func (a hostAccess) runScript(ctx context.Context, host string, s Script) (Reply, error) {
	conn, err := a.connectHost(ctx, host)
	if err != nil {
		return Reply{}, err
	}
	return runOn(ctx, conn, s)
}

// runOn runs a script, and notes whether it may have reached the host.
func runOn(ctx context.Context, conn Conn, s Script) (Reply, error) {
	reply, err := conn.Run(ctx, s)
	if s.Sent != nil && !errors.As(err, &NoContent{}) {
		s.Sent.Store(true)
	}
	return reply, err
}

// runIdempotent retries a script once, on a new connection, if the connection is lost.
func (a hostAccess) runIdempotent(ctx context.Context, host string, s Script) (Reply, error) {
	conn, err := a.connectHost(ctx, host)
	if err != nil {
		return Reply{}, err
	}
	began := a.Clock.Now()
	reply, err := runOn(ctx, conn, s)
	late := s.Timeout > 0 && a.Clock.Now().Sub(began) >= s.Timeout
	if err == nil || late || errors.As(err, &TooMuchOutput{}) || a.Clock.Sleep(ctx, a.pollInterval()) != nil {
		return reply, err
	}
	return a.runScript(ctx, host, s)
}

func (a hostAccess) runOnBastion(ctx context.Context, hp engine.HostPlan, command string) (Reply, error) {
	h, _ := a.Inventory.Host(hp.Host)
	env := []string{"HOLDFAST_HOST=" + hp.Host, "HOLDFAST_ADDRESS=" + h.Address, "HOLDFAST_POOL=" + hp.Pool, "HOLDFAST_RUN=" + a.ID}
	return a.Local.Run(ctx, command, env)
}

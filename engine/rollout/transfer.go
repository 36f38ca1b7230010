package rollout

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"holdfast/engine/event"
)

// reconnectTime is how long a run tries to continue a transfer whose connection
// is lost. The time begins again with each connection that transfers data.
const reconnectTime = 2 * time.Minute

// runTransfer runs a script that fetches content from the bastion. It repeats
// the script on a new connection each time that the connection is lost. The
// host keeps the content that it has already received.
func (a hostAccess) runTransfer(ctx context.Context, host string, s Script) (Reply, error) {
	var moved atomic.Bool
	report := s.Transfer
	s.Transfer = func(p event.Progress) {
		moved.Store(true)
		report(p)
	}
	last := a.Clock.Now()
	for {
		reply, err := a.runScript(ctx, host, s)
		if err == nil || errors.As(err, &TooMuchOutput{}) || errors.As(err, &NoContent{}) {
			return reply, err
		}
		if moved.Swap(false) {
			last = a.Clock.Now()
		}
		if a.Clock.Now().Sub(last) >= reconnectTime || a.Clock.Sleep(ctx, a.pollInterval()) != nil {
			return reply, err
		}
	}
}

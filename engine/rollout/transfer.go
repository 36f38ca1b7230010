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
func (r *Run) runTransfer(ctx context.Context, host string, s Script) (Reply, error) {
	var moved atomic.Bool
	report := s.Transfer
	s.Transfer = func(p event.Progress) {
		moved.Store(true)
		report(p)
	}
	last := r.Clock.Now()
	for {
		reply, err := r.runScript(ctx, host, s)
		if err == nil || errors.As(err, &TooMuchOutput{}) || errors.As(err, &NoContent{}) {
			return reply, err
		}
		if moved.Swap(false) {
			last = r.Clock.Now()
		}
		if r.Clock.Now().Sub(last) >= reconnectTime || r.Clock.Sleep(ctx, r.pollInterval()) != nil {
			return reply, err
		}
	}
}

package connection

import (
	"cmp"
	"context"
	"sync"

	"github.com/sourcegraph/conc/pool"

	"holdfast/engine"
	"holdfast/engine/rollout"
)

// scriptForks is the number of hosts that RunScripts talks to at once, unless Forks says another.
const scriptForks = 64

// Answer is the answer of one host to a script.
type Answer struct {
	Host      engine.Host
	Reply     rollout.Reply
	Err       error // why there is no reply
	Connected bool  // the script was sent, so it may have run despite Err
}

// RunScripts runs a script on each of the hosts, several at once, and waits for
// all. It calls receive with each answer as soon as the host has answered. No two
// of these calls run at the same time.
func (h *Hosts) RunScripts(ctx context.Context, hosts []engine.Host, script func(engine.Host) rollout.Script, receive func(Answer)) {
	var mu sync.Mutex
	workers := pool.New().WithMaxGoroutines(cmp.Or(h.Forks, scriptForks))
	for _, host := range hosts {
		workers.Go(func() {
			a := h.runScript(ctx, host, script(host))
			mu.Lock()
			defer mu.Unlock()
			receive(a)
		})
	}
	workers.Wait()
}

func (h *Hosts) runScript(ctx context.Context, host engine.Host, script rollout.Script) Answer {
	c, err := h.Connect(ctx, host)
	if err != nil {
		return Answer{Host: host, Err: err}
	}
	reply, err := c.Run(ctx, script)
	return Answer{Host: host, Reply: reply, Err: err, Connected: true}
}

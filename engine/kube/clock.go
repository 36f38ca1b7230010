package kube

import (
	"net/http"
	"sync"
	"time"
)

// clockWatch compares the clock of an API with the clock of the bastion. Leases have times of the clocks of the cluster: a bastion whose clock is wrong
// would take a lease that is not over, and write one that is over for others.
type clockWatch struct {
	mu    sync.Mutex
	ahead time.Duration // how far the API's clock is ahead of the bastion's; negative: behind
}

// compareDate notes the time in the head of an answer. That time has whole seconds, and was taken between the question and the
// answer. A difference that this explains counts as none.
func (w *clockWatch) compareDate(date string, asked, answered time.Time) {
	at, err := http.ParseTime(date)
	if err != nil {
		return
	}
	earliest, latest := at.Sub(answered), at.Add(time.Second).Sub(asked)
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case earliest > 0:
		w.ahead = earliest
	case latest < 0:
		w.ahead = latest
	default:
		w.ahead = 0
	}
}

func (c *Client) readClockAhead() time.Duration {
	c.clock.mu.Lock()
	defer c.clock.mu.Unlock()
	return c.clock.ahead
}

// readAPIClock returns the present time of the API.
func (c *Client) readAPIClock() time.Time { return c.bastion.Now().Add(c.readClockAhead()) }

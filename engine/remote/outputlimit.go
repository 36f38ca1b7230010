package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Bounds of output.
const (
	defaultMaxOutput    = 4 << 20   // of one script, Command.MaxOutput
	defaultOutputBudget = 128 << 20 // of all scripts of a Dialer together, without the freeOutput of each
	freeOutput          = 256 << 10 // of one script without a share of the budget
	longOutput          = 4 << 20   // of one script with a share of the first half of the budget
	maxAhead            = 1 << 20   // of one script before it starts, printed by a login shell or sudo
)

// tooMuchOutput is the error of a script that printed more than its limit.
type tooMuchOutput struct {
	limit int64
	ahead bool // before the script started
}

// Error states the limit.
func (e tooMuchOutput) Error() string {
	text := fmt.Sprintf("the host printed more than %.1f MiB", float64(e.limit)/(1<<20))
	if e.ahead {
		text += " before the script started"
	}
	return text
}

// allowance counts the kept output of a script, on both streams together. The first part, up to freeOutput, is free.
// Beyond freeOutput the script reserves a share of the first half of the Dialer's budget, and beyond longOutput a share
// of the second half. A script with a share of the second half needs nothing more, so it always ends, and then the
// scripts that wait for its shares proceed.
type allowance struct {
	limit  int64
	budget *budget
	ctx    context.Context // ends waiting for the budget

	mu       sync.Mutex
	kept     int64
	reserved [2]int64 // of the halves of the budget
	closed   bool
}

// budget bounds the long outputs of all scripts together.
type budget struct {
	half int64 // the size of each half
	left [2]*semaphore.Weighted
}

func newBudget(size int64) *budget {
	if size <= 0 {
		size = defaultOutputBudget
	}
	half := size / 2
	return &budget{half: half, left: [2]*semaphore.Weighted{semaphore.NewWeighted(half), semaphore.NewWeighted(half)}}
}

var errAllowanceClosed = errors.New("the output is no longer read")

// reserveBytes allows n more bytes, and may wait for the budget. The error is tooMuchOutput if the limit is exceeded.
func (a *allowance) reserveBytes(n int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return errAllowanceClosed
	case a.kept+int64(n) > a.limit:
		return tooMuchOutput{limit: a.limit}
	}
	a.kept += int64(n)
	bounds := [3]int64{freeOutput, longOutput, a.limit}
	for i, left := range a.budget.left {
		if a.kept <= bounds[i] || a.reserved[i] > 0 {
			continue
		}
		share := min(bounds[i+1]-bounds[i], a.limit-bounds[i], a.budget.half)
		if err := left.Acquire(a.ctx, share); err != nil {
			return err
		}
		a.reserved[i] = share
	}
	return nil
}

// releaseShares returns the shares to the budget. At the time of the call, the context must have ended, or no call of
// reserveBytes may be waiting.
func (a *allowance) releaseShares() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for i, left := range a.budget.left {
		left.Release(a.reserved[i])
		a.reserved[i] = 0
	}
}

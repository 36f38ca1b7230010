package content

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// reportInterval is the time between two reports of a transfer.
const reportInterval = 5 * time.Second

// tracker keeps the bytes that hosts were sent in their present steps, over all attempts.
type tracker struct {
	mu    sync.Mutex
	hosts map[string]sentInStep
}

type sentInStep struct {
	step int64
	sent *sentRanges
}

func newTracker() tracker { return tracker{hosts: map[string]sentInStep{}} }

func (t *tracker) beginTransfer(transfer Transfer) *progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok := t.hosts[transfer.Host]
	if !ok || h.step != transfer.Step {
		h = sentInStep{transfer.Step, newSentRanges()}
		t.hosts[transfer.Host] = h
	}
	p := &progress{transfer: transfer, sent: h.sent}
	p.before, _ = p.sent.countBytes()
	return p
}

// progress measures one transfer.
type progress struct {
	transfer Transfer
	before   int64       // bytes of earlier attempts of the step
	began    time.Time   // when its host could begin to fetch
	sent     *sentRanges // of all attempts of the step
	total    atomic.Int64
}

func (p *progress) setTotal(n int64) {
	if n > 0 {
		p.total.Store(n)
	}
}

func (p *progress) reportUntil(ctx context.Context) {
	tick := time.NewTicker(reportInterval)
	defer tick.Stop()
	var meter rateMeter
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		sent, again := p.sent.countBytes()
		rate := meter.addTotal(sent-p.before, reportInterval)
		if p.transfer.Report == nil || sent == p.before {
			continue
		}
		p.transfer.Report(newProgress(sent, again, p.total.Load(), rate))
	}
}

func (p *progress) reportEnd() {
	sent, again := p.sent.countBytes()
	if p.transfer.Report == nil || sent == p.before {
		return
	}
	r := event.Progress{Bytes: sent, AgainBytes: again, Ended: true}
	if took := time.Since(p.began); took > 0 {
		r.BytesPerSecond = int64(float64(sent-p.before) / took.Seconds())
	}
	p.transfer.Report(r)
}

// newProgress returns a report. Bytes that are sent again bring the end no nearer.
// It leaves out a total that is smaller than the other bytes, because such a total
// is wrong.
func newProgress(sent, again, total, rate int64) event.Progress {
	r := event.Progress{Bytes: sent, AgainBytes: again, TotalBytes: total, BytesPerSecond: rate}
	left := total - (sent - again)
	switch {
	case left < 0:
		r.TotalBytes = 0
	case rate > 0 && total > 0:
		r.Remaining = engine.Duration((time.Duration(float64(left)/float64(rate)) * time.Second).Round(time.Second))
	}
	return r
}

// rateMeter averages a rate over about half a minute.
type rateMeter struct {
	last int64
	rate float64
	runs int
}

func (m *rateMeter) addTotal(sent int64, interval time.Duration) int64 {
	const window = 6 // updates
	now := float64(sent-m.last) / interval.Seconds()
	m.last = sent
	m.runs++
	m.rate += (now - m.rate) / float64(min(m.runs, window))
	return int64(m.rate)
}

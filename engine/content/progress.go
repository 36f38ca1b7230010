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

// tracker keeps the bytes that hosts were sent in earlier attempts.
type tracker struct {
	mu   sync.Mutex
	sent map[string]int64 // by host and digest
}

func newTracker() tracker { return tracker{sent: map[string]int64{}} }

func (t *tracker) beginTransfer(transfer Transfer) *progress {
	key := transfer.Host + " " + transfer.Content.Digest()
	t.mu.Lock()
	defer t.mu.Unlock()
	return &progress{transfer: transfer, before: t.sent[key], began: time.Now(), keep: func(n int64) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.sent[key] = n
	}}
}

// progress measures one transfer.
type progress struct {
	transfer Transfer
	before   int64 // bytes of earlier attempts
	began    time.Time
	keep     func(int64)
	sent     atomic.Int64
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
		sent := p.sent.Load()
		rate := meter.addTotal(sent, reportInterval)
		if p.transfer.Report == nil || sent == 0 {
			continue
		}
		p.transfer.Report(newProgress(p.before+sent, p.total.Load(), rate))
	}
}

func (p *progress) reportEnd() {
	sent := p.sent.Load()
	p.keep(p.before + sent)
	if p.transfer.Report == nil || sent == 0 {
		return
	}
	r := event.Progress{Bytes: p.before + sent, Ended: true}
	if took := time.Since(p.began); took > 0 {
		r.Rate = int64(float64(sent) / took.Seconds())
	}
	p.transfer.Report(r)
}

// newProgress returns a report. It leaves out a total that is smaller than
// sent, because such a total is wrong.
func newProgress(sent, total, rate int64) event.Progress {
	r := event.Progress{Bytes: sent, Total: total, Rate: rate}
	switch {
	case total < sent:
		r.Total = 0
	case rate > 0 && total > 0:
		r.Left = engine.Duration((time.Duration(float64(total-sent)/float64(rate)) * time.Second).Round(time.Second))
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

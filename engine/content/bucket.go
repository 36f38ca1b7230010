package content

import "time"

// burst is how much time a bucket saves while nothing is sent. It evens out the delays of timers.
const burst = 50 * time.Millisecond

// chunkSize is how many bytes are booked at once. It is the same for all hosts: so each turn of a host is worth the same. A packet of
// SSH has as many.
const chunkSize = 32 << 10

// bucket bounds a rate. It books bytes in advance, and its caller waits until they are due.
type bucket struct {
	rate int64     // bytes per second; 0: no limit
	free time.Time // when all booked bytes are paid for
}

// bookBytes books n bytes and returns when they may be sent: now, or later.
func (b *bucket) bookBytes(now time.Time, n int) time.Time {
	if b.rate <= 0 {
		return now
	}
	if earliest := now.Add(-burst); b.free.Before(earliest) {
		b.free = earliest
	}
	due := b.free
	b.free = b.free.Add(time.Duration(float64(n) / float64(b.rate) * float64(time.Second)))
	if due.Before(now) {
		return now
	}
	return due
}

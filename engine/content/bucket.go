package content

import "time"

// burst bounds how much a bucket catches up after it was not used: it then sends the bytes of this time at once. It
// evens out the delays of timers.
const burst = 50 * time.Millisecond

// chunkSize is the number of bytes that are booked at once. It equals the size of a packet of SSH. All hosts use the
// same chunk size, so that each turn is worth the same number of bytes.
const chunkSize = 32 << 10

// bucket bounds a rate. It books bytes in advance, and its caller waits until they are due.
type bucket struct {
	rate int64     // bytes per second; 0: no limit
	free time.Time // time when all booked bytes are due
}

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

package content

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine"
)

// load is a set of hosts that send as fast as the limits allow.
type load struct {
	total, each int64
	conns       []int   // of each host
	rates       []int64 // set at run time; 0: none
}

func drawLoad(t *rapid.T) load {
	l := load{total: rapid.Int64Range(1<<20, 64<<20).Draw(t, "total")}
	if rapid.Bool().Draw(t, "limit each") {
		l.each = rapid.Int64Range(64<<10, 64<<20).Draw(t, "each")
	}
	for range rapid.IntRange(1, 5).Draw(t, "hosts") {
		l.conns = append(l.conns, rapid.IntRange(1, 8).Draw(t, "connections"))
		rate := int64(0)
		if rapid.Bool().Draw(t, "limit one") {
			rate = rapid.Int64Range(engine.MinMirrorRate, 8<<20).Draw(t, "rate")
		}
		l.rates = append(l.rates, rate)
	}
	return l
}

// run lets the hosts send for the virtual time d, and returns the bytes of each
// host.
func (l load) run(t *testing.T, d time.Duration) []int64 {
	sent := make([]int64, len(l.conns))
	synctest.Test(t, func(*testing.T) {
		limits := newLimits(l.total, l.each)
		ctx, cancel := context.WithTimeout(context.Background(), d)
		defer cancel()
		for i, conns := range l.conns {
			name := fmt.Sprint("host-", i)
			limits.setRate(name, l.rates[i])
			for range conns {
				go func() {
					for limits.waitToSend(ctx, name, chunkSize) == nil {
						limits.mu.Lock()
						sent[i] += chunkSize
						limits.mu.Unlock()
					}
				}()
			}
		}
		<-ctx.Done()
		synctest.Wait()
	})
	return sent
}

// rateOf returns the limit of a host alone, or a huge rate if the host has no
// limit.
func (l load) rateOf(i int) int64 {
	rate := int64(1) << 60
	for _, r := range []int64{l.each, l.rates[i]} {
		if r > 0 {
			rate = min(rate, r)
		}
	}
	return rate
}

// fairShares divides the total rate. A host has less than another one only if its own limit is lower.
func (l load) fairShares() []float64 {
	shares := make([]float64, len(l.conns))
	left, open := float64(l.total), len(l.conns)
	for open > 0 {
		level, settled := left/float64(open), false
		for i := range shares {
			if rate := float64(l.rateOf(i)); shares[i] == 0 && rate <= level {
				shares[i], settled = rate, true
				left -= rate
				open--
			}
		}
		if settled {
			continue
		}
		for i := range shares {
			if shares[i] == 0 {
				shares[i] = level
			}
		}
		return shares
	}
	return shares
}

// TestRatesAreKeptAndFair checks that each host sends at its fair share of the total rate. The number of its connections
// does not matter, and hosts with a lower limit leave the rest of their share to the others.
func TestRatesAreKeptAndFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := drawLoad(rt)
		const d = 5 * time.Second
		sent := l.run(t, d)
		for i, share := range l.fairShares() {
			want := share * d.Seconds()
			slack := float64(l.total)*burst.Seconds() + 4*chunkSize + want/50 // a single host may use the whole burst of the total
			if got := float64(sent[i]); got < want-slack || got > want+slack {
				rt.Errorf("host %d of %+v sent %.0f bytes, want %.0f (±%.0f); all: %v", i, l, got, want, slack, sent)
			}
		}
	})
}

func TestSetRateKeepsTheLimitOfTheInventory(t *testing.T) {
	l := newLimits(0, 1<<20)
	for _, c := range []struct{ set, want int64 }{{0, 1 << 20}, {2 << 20, 1 << 20}, {1 << 19, 1 << 19}, {1, engine.MinMirrorRate}, {-1, 1 << 20}} {
		l.setRate("h", c.set)
		if got := l.hosts["h"].bucket.rate; got != c.want {
			t.Errorf("after setRate(%d) the rate is %d, want %d", c.set, got, c.want)
		}
	}
}

func TestWaitEndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimits(1, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for l.waitToSend(ctx, "h", chunkSize) == nil {
		}
		if ctx.Err() == nil {
			t.Error("it ended before its context")
		}
	})
}

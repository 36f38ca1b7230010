package simulator

import (
	"context"
	"time"

	"holdfast/engine"
	"holdfast/engine/governor"
)

// counters are the counters of a member at one time. The p99 since earlier
// counters is the p99 at this time.
type counters struct {
	at     time.Time
	window time.Duration // time since earlier counters
	p99    float64       // p99 of WAL fsync, in seconds; 0: nothing was written
}

// Since returns the counters of the time from earlier to c.
func (c counters) Since(earlier governor.Counters) governor.Counters {
	before, _ := earlier.(counters) // the simulator has no other counters
	c.window = c.at.Sub(before.at)
	return c
}

// Plus returns the counters of both times, with the p99 of the longer one.
func (c counters) Plus(other governor.Counters) governor.Counters {
	more, _ := other.(counters)
	sum := counters{at: more.at, window: c.window + more.window, p99: c.p99}
	if more.window > c.window {
		sum.p99 = more.p99
	}
	return sum
}

// Latency returns the p99 as a latency point.
func (c counters) Latency(host string, _ int) engine.LatencyPoint {
	p := engine.LatencyPoint{Host: host, Window: engine.Duration(c.window)}
	if c.p99 > 0 {
		p.WALFsyncP99Seconds, p.WALFsyncBucket = c.p99, &engine.LatencyBucket{Observed: 100}
	}
	return p
}

// IdleLatency is Latency.
func (c counters) IdleLatency(host string, exceptional int) engine.LatencyPoint {
	return c.Latency(host, exceptional)
}

// ScrapeMembers returns the counters of the members that are up. It is not a
// Call, which a fault can lose or at which the bastion dies, because its
// answers only change the pace of a staging. On a full second it takes a
// millisecond, as Sample does. At other times it takes until the next full
// second, so that the steps after the measurement of the idle latency begin on
// a full second.
func (b *Bastion) ScrapeMembers(ctx context.Context, name string) []governor.Scrape {
	takes := time.Millisecond
	if now := b.clock.Now(); now.Nanosecond() != 0 {
		takes = now.Truncate(time.Second).Add(time.Second).Sub(now)
	}
	if err := b.clock.Sleep(ctx, takes); err != nil {
		return nil
	}
	var scrapes []governor.Scrape
	b.site.withLock(func(now time.Time) {
		for _, m := range b.site.clusters[name].members {
			s := governor.Scrape{Host: m.Name, Problem: "connection refused"}
			if m.hasHealthyMember(now) {
				c := counters{at: now}
				if b.Disk != nil {
					c.p99 = b.Disk(m.Name, now)
				}
				s.Counters, s.Problem = c, ""
			}
			scrapes = append(scrapes, s)
		}
	})
	return scrapes
}

func (h *Host) takePace(text string) string {
	if h.staging == "" {
		return ""
	}
	h.paces = append(h.paces, text)
	if h.traits.NoFreezer {
		return "freeze no the unit has no cgroup.freeze\n"
	}
	return "freeze yes\n"
}

// Paces returns the scripts that have sent a pace to the host.
func (h *Host) Paces() (paces []string) {
	h.site.withLock(func(time.Time) { paces = append(paces, h.paces...) })
	return paces
}

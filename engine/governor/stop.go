package governor

import (
	"time"

	"holdfast/engine"
)

// oftenOver is a share of the last minute. If, at the floor, the p99 of the
// last ten seconds exceeds its limit for at least this share, the limit cannot
// be kept. A load that comes for a few seconds each minute makes the p99 of
// each minute exceed the limit, too, but not the p99 of many windows.
const oftenOver = 0.4

// judgement is whether the p99 over WindowTime, with all observations, exceeds
// its limit at the floor.
type judgement struct {
	at   time.Time
	over bool
}

// noteFloor notes the judgements of the last LongTime at the floor. The first
// window at the floor has observations of a faster pace and does not count.
func (c *Controller) noteFloor(now time.Time, readings []Reading) {
	if c.pace > 0 {
		c.floorSince, c.atFloor = time.Time{}, nil
		return
	}
	if c.floorSince.IsZero() {
		c.floorSince = now
	}
	if now.Sub(c.floorSince) < WindowTime {
		return
	}
	full, _ := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Full })
	c.atFloor = append(c.atFloor, judgement{now, full.isOver()})
	for now.Sub(c.atFloor[0].at) >= LongTime {
		c.atFloor = c.atFloor[1:]
	}
}

// isOftenOver reports whether the pace was at the floor for all of LongTime,
// and its windows often exceeded a limit.
func (c *Controller) isOftenOver(now time.Time) bool {
	if c.floorSince.IsZero() || now.Sub(c.floorSince) < LongTime {
		return false
	}
	over := 0
	for _, j := range c.atFloor {
		if j.over {
			over++
		}
	}
	return float64(over) >= oftenOver*float64(len(c.atFloor))
}

func (c *Controller) checkStop(now time.Time, readings []Reading) (engine.StopReason, Excess) {
	reason, over := c.excessAtFloor(now, readings)
	switch {
	case reason == "":
		c.exceededSince = time.Time{}
	case c.exceededSince.IsZero():
		c.exceededSince = now
	}
	if reason != "" && now.Sub(c.exceededSince) >= c.AbortAfter {
		return reason, over
	}
	return c.checkDeadline(now)
}

// excessAtFloor returns why the staging must stop if this lasts: a limit is
// exceeded although the pace is at the floor. If nobody writes, an idle cluster
// and a disk that stalls look the same. So a stall counts only if another disk
// writes.
func (c *Controller) excessAtFloor(now time.Time, readings []Reading) (engine.StopReason, Excess) {
	window, _ := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Window })
	long, _ := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Long })
	switch stalled := c.longestStall(now); {
	case c.pace > 0:
	case window.isOver():
		return engine.StopLatency, window
	case long.isOver() && c.isOftenOver(now):
		return engine.StopLatency, long
	case stalled.Stalled > 0 && c.hasWriter(readings):
		return engine.StopStalled, stalled
	case c.isMissingLong(now):
		return engine.StopMissing, c.longestMissing(now, readings)
	}
	return "", Excess{}
}

func (c *Controller) checkDeadline(now time.Time) (engine.StopReason, Excess) {
	if !c.Deadline.IsZero() && !now.Before(c.Deadline) {
		return engine.StopDeadline, Excess{}
	}
	return "", Excess{}
}

package governor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"holdfast/engine"
)

// Settings are the settings of a controller for one staging of one host.
type Settings struct {
	Common     Limits            // limits of members that are not in Limits
	Limits     map[string]Limits // limits by host of the member, raised by its idle latency
	Members    int               // number of readings in a complete sample
	Began      time.Time
	Deadline   time.Time     // time at which the staging stops; zero: never
	AbortAfter time.Duration // how long the limits may be exceeded at the floor

	// Blind means that no latency is known at all. The pace then never changes.
	Blind bool

	// Absent are the hosts of members that did not answer before the staging, such
	// as hosts that are switched off. Until such a member answers, nobody waits for
	// it, and the pace does not rise above the fixed pace of a blind controller.
	Absent []string
}

// The times of the controller.
const (
	RecentTime   = 3 * time.Second  // window of Reading.Recent
	WindowTime   = 10 * time.Second // window of Reading.Window
	LongTime     = 60 * time.Second // window of Reading.Long
	idleTime     = 30 * time.Second // length of the newest pauses that Reading.Idle covers
	longIdleTime = 2 * time.Minute  // longer length of pauses, whose p99 bounds the p99 of Reading.Idle
	missingTime  = 5 * time.Second  // a member that does not answer for this time counts as too slow
	leastPause   = 4 * time.Second  // long enough to measure the latency without staging
	longestPause = 10 * time.Second // longest time without progress
	leastRun     = 10 * time.Second // shortest time at the floor between two pauses
	calmTime     = 6 * time.Second  // time after a cut before the pace rises again
)

// The steps of the pace. The first rise is quick, because most disks are fast
// enough for full speed. After the first excess the controller knows that this
// disk is not. A rise that makes slices longer is slower: a large object may
// follow small ones, and fills each slice.
const (
	firstPace   = 0.1
	blindPace   = 0.1 // 3 MB/s of large objects on a disk of 50 MB/s
	firstRise   = 0.05
	firstLonger = 0.03 // rise that makes slices longer
	laterRise   = 0.05
	laterLonger = 0.003
	tooMuch     = 2.0 // multiple of the limit: the last few seconds are enough to slow down. A smaller excess may be chance, and needs a longer window
	farTooMuch  = 4.0 // multiple of the limit: the pace falls to the floor at once
	cutFactor   = 0.5
	leastPace   = 0.05 // a lower pace becomes the floor
)

// Decision has the knobs for the host until the next sample, and whether the staging must stop.
type Decision struct {
	Knobs Knobs
	Safe  Knobs                // knobs for a host that hears nothing more from the bastion
	State engine.GovernorState // state if a lever is in force
	Cause Excess               // reason for State; zero if there is none, such as before the first sample
	Stop  engine.StopReason    // "": the staging continues
	Over  Excess               // reason for Stop, except for a StopDeadline
}

// Controller governs one staging. The zero value is not usable; New returns one.
type Controller struct {
	Settings

	pace, safe    float64
	experienced   bool                    // an excess was observed
	absent        map[string]bool         // hosts of Absent that have not answered since
	silent        map[silenceKey]*silence // members that have written something, but not in RecentTime
	lastCut       time.Time
	pausedSince   time.Time            // zero: the staging is not paused
	runsSince     time.Time            // end of the last pause
	answered      map[string]time.Time // time of the last answer of each host, or of the first sample without one
	missingSince  time.Time            // zero: all members answer
	exceededSince time.Time            // zero: the limits are kept, or the pace is above the floor
	floorSince    time.Time            // zero: the pace is above the floor
	atFloor       []judgement
}

// New returns the controller of a staging that begins.
func New(s Settings) *Controller {
	c := &Controller{Settings: s, pace: firstPace, runsSince: s.Began.Add(-leastRun), silent: map[silenceKey]*silence{}, absent: map[string]bool{}, answered: map[string]time.Time{}}
	for _, host := range s.Absent {
		c.absent[host] = true
	}
	if s.Blind || len(s.Absent) > 0 {
		c.pace = blindPace
	}
	return c
}

// First returns the decision before the first sample.
func (c *Controller) First() Decision { return c.decisionNow(c.firstAbsent()) }

// AddSample adds one reading of each member and returns the decision until the
// next sample.
func (c *Controller) AddSample(now time.Time, readings []Reading) Decision {
	recent, observed := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Recent })
	if c.Blind {
		decision := c.decisionNow(recent)
		decision.Stop, decision.Over = c.checkDeadline(now)
		return decision
	}
	readings = c.dropAbsent(readings)
	window, _ := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Window })
	long, _ := c.worstOf(readings, func(r Reading) engine.LatencyPoint { return r.Long })
	complete := c.missingHost(readings) == "" && len(readings)+len(c.absent) >= c.Members
	c.noteMissing(now, readings, complete)
	c.noteSilence(now, readings)
	stalled := c.longestStall(now)
	switch {
	case recent.shareOfLimit() > tooMuch || c.isMissingLong(now) || stalled.Stalled > 0:
		c.slowDown(now, recent.shareOfLimit(), RecentTime)
	case c.isPaused() && (recent.isOver() || long.isAboveAim() || now.Sub(c.pausedSince) < leastPause): // the pause continues
	case window.isOver() && !c.isPaused():
		c.slowDown(now, window.shareOfLimit(), WindowTime/2)
	case (long.isOver() || c.pace == 0 && long.isAboveAim()) && !c.isPaused():
		c.slowDown(now, long.shareOfLimit(), LongTime/2)
	case complete && len(c.silent) == 0 && (!observed || !recent.isOver()):
		c.endPause(now)
		c.safe = c.pace
		if c.areCalm(readings) {
			c.speedUp(now)
		}
	}
	c.limitPause(now)
	decision := c.decisionNow(c.causeOf(now, readings, stalled, recent, window, long))
	c.noteFloor(now, readings)
	decision.Stop, decision.Over = c.checkStop(now, readings)
	return decision
}

// causeOf returns the latency that is highest in relation to its limit. If that
// is not the reason for a slow pace, causeOf returns the member that has stalled,
// that does not answer, or that was absent from the start.
func (c *Controller) causeOf(now time.Time, readings []Reading, stalled Excess, latencies ...Excess) Excess {
	worst := slices.MaxFunc(latencies, func(a, b Excess) int { return cmp.Compare(a.shareOfLimit(), b.shareOfLimit()) })
	switch share := worst.shareOfLimit(); {
	case stalled.Stalled > 0 && share <= tooMuch:
		return stalled
	case c.isMissingLong(now) && share <= tooMuch:
		return c.longestMissing(now, readings)
	case len(c.absent) > 0 && !c.experienced:
		return c.firstAbsent()
	}
	return worst
}

// firstAbsent returns the zero Excess if no member is absent.
func (c *Controller) firstAbsent() Excess {
	if len(c.absent) == 0 {
		return Excess{}
	}
	return Excess{Host: slices.Min(slices.Collect(maps.Keys(c.absent)))}
}

// dropAbsent returns the readings without those of absent members. A member that
// answers is not absent any more.
func (c *Controller) dropAbsent(readings []Reading) []Reading {
	var kept []Reading
	for _, r := range readings {
		if !r.Missing {
			delete(c.absent, r.Host)
		}
		if !c.absent[r.Host] {
			kept = append(kept, r)
		}
	}
	return kept
}

func (c *Controller) isPaused() bool { return !c.pausedSince.IsZero() }

// noteMissing notes since when a member has not answered. Each counts for itself:
// members whose answers take long may answer in turn, and no sample is complete.
func (c *Controller) noteMissing(now time.Time, readings []Reading, complete bool) {
	for _, r := range readings {
		if _, known := c.answered[r.Host]; !known || !r.Missing {
			c.answered[r.Host] = now
		}
	}
	host := c.missingHost(readings)
	switch {
	case complete:
		c.missingSince = time.Time{}
	case host != "":
		c.missingSince = c.answered[host]
	case c.missingSince.IsZero(): // there are too few readings
		c.missingSince = now
	}
}

// longestMissing returns the member that has not answered for the longest time. It
// has no host if there are too few readings.
func (c *Controller) longestMissing(now time.Time, readings []Reading) Excess {
	return Excess{Host: c.missingHost(readings), Window: now.Sub(c.missingSince)}
}

func (c *Controller) isMissingLong(now time.Time) bool {
	return !c.missingSince.IsZero() && now.Sub(c.missingSince) >= missingTime
}

// slowDown halves the pace, but not again within the time window, because
// observations from before a cut do not judge the pace after the cut. A latency
// far above its limit sets the pace to the floor at once. At the floor,
// slowDown begins a pause instead.
func (c *Controller) slowDown(now time.Time, ratio float64, window time.Duration) {
	c.experienced = true
	c.safe = min(c.safe, c.pace*cutFactor)
	if ratio <= farTooMuch && now.Sub(c.lastCut) < window {
		return
	}
	switch {
	case c.pace > 0:
		c.lastCut = now
		c.pace *= cutFactor
		if ratio > farTooMuch || c.pace < leastPace {
			c.pace = 0
		}
	case !c.isPaused() && now.Sub(c.lastCut) >= window && now.Sub(c.runsSince) >= leastRun:
		c.pausedSince = now
	}
	c.safe = min(c.safe, c.pace)
}

func (c *Controller) speedUp(now time.Time) {
	if now.Sub(c.lastCut) < calmTime {
		return
	}
	rise, longer := laterRise, laterLonger
	if !c.experienced {
		rise, longer = firstRise, firstLonger
	}
	switch {
	case len(c.absent) > 0:
		c.pace = min(c.pace+rise, blindPace)
	case c.pace < shortPause:
		c.pace = min(c.pace+rise, shortPause)
	default:
		c.pace = min(c.pace+longer, 1)
	}
}

func (c *Controller) endPause(now time.Time) {
	if c.isPaused() {
		c.pausedSince, c.runsSince = time.Time{}, now
	}
}

func (c *Controller) limitPause(now time.Time) {
	if c.isPaused() && now.Sub(c.pausedSince) >= longestPause {
		c.endPause(now)
	}
}

func (c *Controller) decisionNow(cause Excess) Decision {
	d := Decision{Knobs: knobsAt(c.pace), Safe: knobsAt(c.safe), State: engine.GovernorSlowed, Cause: cause}
	switch {
	case c.Blind:
		d.State = engine.GovernorFixed
	case c.isPaused():
		d.Knobs, d.State = pauseKnobs(), engine.GovernorPaused
	case len(c.absent) == 0 && (!c.experienced || c.pace >= 1):
		d.State = engine.GovernorFree
	}
	return d
}

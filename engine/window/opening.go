// Package window computes when the maintenance windows of a pool are open.
package window

import (
	"slices"
	"time"

	"holdfast/engine"
)

// The range of days in which openings are searched. The longest window is a
// day. A window that began two calendar days ago may still be open near a
// change of the clocks. Such a change can remove the time between the openings
// of two consecutive weeks, but never of three: windows that are open for
// longer than two weeks have no end. If an opening is too short for a batch in
// the week of a change, it is long enough in the week after.
const (
	windowDaysBack  = 2
	windowDaysAhead = 36
	windowForEver   = 15 * 24 * time.Hour
)

// OpenUntil reports whether any of the windows is open at now, and when the
// opening ends. Windows that overlap or touch are one opening. The end is zero
// if the opening never ends: without windows, or if the windows cover the whole
// week.
func OpenUntil(windows []engine.Window, now time.Time) (end time.Time, open bool) {
	if len(windows) == 0 {
		return time.Time{}, true
	}
	return openUntil(mergedOpenings(windows, now), now)
}

// MayBegin reports whether work of duration takes may begin now and will end
// before the windows close. If not, opens is the next time at which the work
// may begin. Zero means never, because no window is long enough.
func MayBegin(windows []engine.Window, now time.Time, takes engine.Duration) (ok bool, opens time.Time) {
	if len(windows) == 0 {
		return true, time.Time{}
	}
	all := mergedOpenings(windows, now)
	end, open := openUntil(all, now)
	if open && (end.IsZero() || end.Sub(now) >= time.Duration(takes)) {
		return true, time.Time{}
	}
	for _, o := range all {
		if o.from.After(now) && o.to.Sub(o.from) >= time.Duration(takes) {
			return false, o.from
		}
	}
	return false, time.Time{}
}

// opening is a time in which windows are open without a break. The moment to is
// not part of the opening.
type opening struct{ from, to time.Time }

func openUntil(all []opening, now time.Time) (end time.Time, open bool) {
	for _, o := range all {
		switch {
		case o.from.After(now) || !o.to.After(now):
		case o.to.Sub(now) >= windowForEver:
			return time.Time{}, true
		default:
			return o.to, true
		}
	}
	return time.Time{}, false
}

func mergedOpenings(windows []engine.Window, now time.Time) []opening {
	var all []opening
	for _, w := range windows {
		for d := -windowDaysBack; d <= windowDaysAhead; d++ {
			if o, ok := openingOf(w, now, d); ok {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b opening) int { return a.from.Compare(b.from) })
	merged := all[:0]
	for _, o := range all {
		last := len(merged) - 1
		switch {
		case last < 0 || o.from.After(merged[last].to):
			merged = append(merged, o)
		case o.to.After(merged[last].to):
			merged[last].to = o.to
		}
	}
	return merged
}

// openingOf returns the opening of a window that begins that many days after
// now, in the window's zone. ok is false if the window does not open on that
// day of the week, or if the clocks skip the window.
func openingOf(w engine.Window, now time.Time, days int) (opening, bool) {
	loc := w.TimeZone()
	y, m, d := now.In(loc).Date()
	d += days
	day := time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
	if len(w.Days) > 0 && !slices.Contains(w.Days, day.Weekday()) {
		return opening{}, false
	}
	to := w.ToMinutes
	if to <= w.FromMinutes {
		to += minutesOfDay
	}
	o := opening{wallClock(day, w.FromMinutes, loc), wallClock(day, to, loc)}
	return o, o.from.Before(o.to)
}

const minutesOfDay = 24 * 60

// wallClock returns the moment at which the clocks of the zone show that many
// minutes after midnight of a day. For a time that occurs twice on that day,
// wallClock returns one of the two moments, as time.Date does. For a time that
// the clocks skip, it returns a moment that is too late by the change of the
// clocks, also in zones where time.Date returns one that is too early: no window
// opens before its time. wallClock never returns a moment on another day. If the
// clocks skip midnight, the last hour of a day as in Greenland, or a whole day as
// in Samoa in 2011, it returns the moment of that change.
func wallClock(day time.Time, minutes int, loc *time.Location) time.Time {
	y, m, d := day.Date()
	want := time.Date(y, m, d, 0, minutes, 0, 0, time.UTC)
	t := time.Date(y, m, d, 0, minutes, 0, 0, loc)
	if early := want.Sub(shownTime(t)); t.Day() == want.Day() && early > 0 {
		t = t.Add(early)
	}
	if t.Day() == want.Day() {
		return t
	}
	before, after := t.ZoneBounds()
	if shownTime(t).Before(want) {
		return after
	}
	return before
}

// shownTime returns the wall-clock time of its zone at t, as a time in UTC.
func shownTime(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

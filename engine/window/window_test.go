package window_test

import (
	"slices"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/window"
)

func loadZone(t interface{ Fatal(...any) }, name string) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// windowsIn returns windows of one zone, from texts such as "Fri,Sat
// 22:00-04:00" or, for every day, "22:00-04:00".
func windowsIn(t *testing.T, loc *time.Location, texts ...string) []engine.Window {
	t.Helper()
	var list []engine.Window
	for _, text := range texts {
		w := engine.Window{Timezone: loc.String(), Location: loc}
		for len(text) > len("22:00-04:00") {
			for d := time.Sunday; d <= time.Saturday; d++ {
				if d.String()[:3] == text[:3] {
					w.Days = append(w.Days, d)
				}
			}
			text = text[4:]
		}
		clock := func(s string) int {
			if s == "24:00" {
				return 24 * 60
			}
			c, err := time.Parse("15:04", s)
			if err != nil {
				t.Fatal(err)
			}
			return c.Hour()*60 + c.Minute()
		}
		w.FromMinutes, w.ToMinutes = clock(text[:5]), clock(text[6:])
		list = append(list, w)
	}
	return list
}

const stamp = "2006-01-02 15:04 -0700"

func TestOpenUntil(t *testing.T) {
	utc := time.UTC
	for _, c := range []struct {
		name    string
		windows []string
		now     string // 2026-03-06 is a Friday
		want    string // "": closed
	}{
		{"before", []string{"Fri 22:00-24:00"}, "2026-03-06 21:59 +0000", ""},
		{"first minute", []string{"Fri 22:00-24:00"}, "2026-03-06 22:00 +0000", "2026-03-07 00:00 +0000"},
		{"closing is closed", []string{"Fri 22:00-24:00"}, "2026-03-07 00:00 +0000", ""},
		{"over night", []string{"Fri 22:00-04:00"}, "2026-03-07 03:59 +0000", "2026-03-07 04:00 +0000"},
		{"days are those of opening", []string{"Fri 22:00-04:00"}, "2026-03-06 01:00 +0000", ""},
		{"touching windows are one", []string{"Sat 00:00-04:00", "Fri 22:00-24:00"}, "2026-03-06 23:00 +0000", "2026-03-07 04:00 +0000"},
		{"overlapping windows are one", []string{"Fri 22:00-02:00", "Sat 01:00-04:00"}, "2026-03-06 23:00 +0000", "2026-03-07 04:00 +0000"},
		{"a window within another", []string{"Fri 20:00-06:00", "Fri 22:00-23:00"}, "2026-03-06 22:30 +0000", "2026-03-07 06:00 +0000"},
		{"a minute between is a break", []string{"Fri 22:00-23:59", "Sat 00:00-04:00"}, "2026-03-06 23:00 +0000", "2026-03-06 23:59 +0000"},
		{"a day from noon to noon", []string{"Fri 12:00-12:00"}, "2026-03-07 11:59 +0000", "2026-03-07 12:00 +0000"},
		{"every day all day is for ever", []string{"00:00-24:00"}, "2026-03-07 11:59 +0000", "for ever"},
		{"every day from noon to noon is for ever", []string{"12:00-12:00"}, "2026-03-07 11:59 +0000", "for ever"},
		{"day and night are for ever", []string{"08:00-20:00", "20:00-08:00"}, "2026-03-07 11:59 +0000", "for ever"},
		{"all but an hour a week", []string{"Mon,Tue,Wed,Thu,Fri,Sat 00:00-24:00", "Sun 00:00-23:00"}, "2026-03-02 00:00 +0000", "2026-03-08 23:00 +0000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, err := time.Parse(stamp, c.now)
			if err != nil {
				t.Fatal(err)
			}
			expectOpen(t, windowsIn(t, utc, c.windows...), now, c.want)
		})
	}
}

func expectOpen(t *testing.T, windows []engine.Window, now time.Time, want string) {
	t.Helper()
	end, open := window.OpenUntil(windows, now)
	got := end.Format(stamp)
	switch {
	case !open:
		got = ""
	case end.IsZero():
		got = "for ever"
	}
	if got != want {
		t.Errorf("%s: open until %q, want %q", now.Format(stamp), got, want)
	}
}

func TestNoWindowIsOpen(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	expectOpen(t, nil, now, "for ever")
	if ok, opens := window.MayBegin(nil, now, engine.Duration(1000*time.Hour)); !ok || !opens.IsZero() {
		t.Error("a pool without windows is not open at any time")
	}
}

// Two windows in two zones follow each other without a gap: 22:00-24:00 in
// Berlin is 16:00-18:00 in New York.
func TestWindowsOfTwoZones(t *testing.T) {
	berlin, york := loadZone(t, "Europe/Berlin"), loadZone(t, "America/New_York")
	windows := append(windowsIn(t, york, "Fri 18:00-20:00"), windowsIn(t, berlin, "Fri 22:00-24:00")...)
	start := time.Date(2026, 2, 6, 22, 0, 0, 0, berlin)
	expectOpen(t, windows, start, "2026-02-06 20:00 -0500")
	expectOpen(t, windows, start.Add(-time.Minute), "")
}

// A window without a location is in UTC.
func TestWindowWithoutZone(t *testing.T) {
	w := []engine.Window{{FromMinutes: 60, ToMinutes: 120}}
	expectOpen(t, w, time.Date(2026, 2, 6, 2, 30, 0, 0, loadZone(t, "Europe/Berlin")), "2026-02-06 02:00 +0000")
}

func TestMayBegin(t *testing.T) {
	for _, c := range []struct {
		name    string
		windows []string
		now     string // 2026-03-06 is a Friday
		takes   time.Duration
		want    string // "now", "never" or the time of the next opening
	}{
		{"room enough", []string{"Fri 22:00-24:00"}, "2026-03-06 22:30 +0000", time.Hour, "now"},
		{"just enough", []string{"Fri 22:00-24:00"}, "2026-03-06 23:00 +0000", time.Hour, "now"},
		{"too late this week", []string{"Fri 22:00-24:00"}, "2026-03-06 23:01 +0000", time.Hour, "2026-03-13 22:00 +0000"},
		{"not open yet", []string{"Fri 22:00-24:00"}, "2026-03-06 10:00 +0000", time.Hour, "2026-03-06 22:00 +0000"},
		{"no window is long enough", []string{"Fri 22:00-24:00", "Sat 02:00-03:00"}, "2026-03-06 23:00 +0000", 121 * time.Minute, "never"},
		{"two in a row are", []string{"Fri 22:00-24:00", "Sat 00:00-01:00"}, "2026-03-06 10:00 +0000", 3 * time.Hour, "2026-03-06 22:00 +0000"},
		{"a short one is passed over", []string{"Sat 02:00-03:00", "Sun 02:00-06:00"}, "2026-03-07 01:00 +0000", 2 * time.Hour, "2026-03-08 02:00 +0000"},
		{"nothing fits a closed window for no time", []string{"Fri 22:00-24:00"}, "2026-03-07 00:00 +0000", 0, "2026-03-13 22:00 +0000"},
		{"the whole week is long enough", []string{"00:00-24:00"}, "2026-03-07 00:00 +0000", 2000 * time.Hour, "now"},
	} {
		t.Run(c.name, func(t *testing.T) {
			now, err := time.Parse(stamp, c.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := describeBegin(windowsIn(t, time.UTC, c.windows...), now, c.takes); got != c.want {
				t.Errorf("may begin %q, want %q", got, c.want)
			}
		})
	}
}

func describeBegin(windows []engine.Window, now time.Time, takes time.Duration) string {
	ok, opens := window.MayBegin(windows, now, engine.Duration(takes))
	switch {
	case ok && opens.IsZero():
		return "now"
	case ok:
		return "now, and " + opens.Format(stamp)
	case opens.IsZero():
		return "never"
	}
	return opens.Format(stamp)
}

// The test lists the openings in nights in which clocks change.
func TestWindowsWhereClocksChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, zone string
		windows    []string
		day        string
		want       []string // openings that touch that day, by the clocks of the zone
	}{
		{
			"spring, over the gap", "Europe/Berlin",
			[]string{"01:00-05:00"},
			"2026-03-29",
			[]string{"2026-03-29 01:00 +0100 to 2026-03-29 05:00 +0200"},
		},
		{
			"spring, within the gap: an hour late", "Europe/Berlin",
			[]string{"02:15-02:45"},
			"2026-03-29",
			[]string{"2026-03-29 03:15 +0200 to 2026-03-29 03:45 +0200"},
		},
		{
			"spring, out of the gap: not at all", "Europe/Berlin",
			[]string{"02:30-03:15"},
			"2026-03-29",
			nil,
		},
		{
			"spring, touching in the gap", "Europe/Berlin",
			[]string{"01:00-02:30", "02:30-05:00"},
			"2026-03-29",
			[]string{"2026-03-29 01:00 +0100 to 2026-03-29 05:00 +0200"},
		},
		{
			"autumn, over the hour that comes twice", "Europe/Berlin",
			[]string{"01:00-05:00"},
			"2026-10-25",
			[]string{"2026-10-25 01:00 +0200 to 2026-10-25 05:00 +0100"},
		},
		{
			"autumn, into the hour that comes twice", "Europe/Berlin",
			[]string{"01:30-02:30"},
			"2026-10-25",
			[]string{"2026-10-25 01:30 +0200 to 2026-10-25 02:30 +0100"},
		},
		{
			"autumn, within the hour that comes twice: once", "Europe/Berlin",
			[]string{"02:15-02:45"},
			"2026-10-25",
			[]string{"2026-10-25 02:15 +0100 to 2026-10-25 02:45 +0100"},
		},
		{
			"spring, over the gap", "America/New_York",
			[]string{"01:00-05:00"},
			"2026-03-08",
			[]string{"2026-03-08 01:00 -0500 to 2026-03-08 05:00 -0400"},
		},
		{
			"spring, within the gap: an hour late", "America/New_York",
			[]string{"02:15-02:45"},
			"2026-03-08",
			[]string{"2026-03-08 03:15 -0400 to 2026-03-08 03:45 -0400"},
		},
		{
			"spring, out of the gap: never early", "America/New_York",
			[]string{"02:30-06:00"},
			"2026-03-08",
			[]string{"2026-03-08 03:30 -0400 to 2026-03-08 06:00 -0400"},
		},
		{
			"autumn, within the hour that comes twice: once", "America/New_York",
			[]string{"01:15-01:45"},
			"2026-11-01",
			[]string{"2026-11-01 01:15 -0400 to 2026-11-01 01:45 -0400"},
		},
		{
			"autumn, out of the hour that comes twice", "America/New_York",
			[]string{"01:30-03:00"},
			"2026-11-01",
			[]string{"2026-11-01 01:30 -0400 to 2026-11-01 03:00 -0500"},
		},
		{
			"half an hour is missing", "Australia/Lord_Howe",
			[]string{"01:00-04:00"},
			"2026-10-04",
			[]string{"2026-10-04 01:00 +1030 to 2026-10-04 04:00 +1100"},
		},
		{
			"half an hour comes twice", "Australia/Lord_Howe",
			[]string{"01:00-04:00"},
			"2026-04-05",
			[]string{"2026-04-05 01:00 +1100 to 2026-04-05 04:00 +1030"},
		},
		{
			"within the half hour that comes twice: once", "Australia/Lord_Howe",
			[]string{"01:40-01:50"},
			"2026-04-05",
			[]string{"2026-04-05 01:40 +1030 to 2026-04-05 01:50 +1030"},
		},
		{
			"midnight is missing: not the evening before", "America/Sao_Paulo",
			[]string{"Sun 00:00-04:00"},
			"2018-11-04",
			[]string{"2018-11-04 01:00 -0200 to 2018-11-04 04:00 -0200"},
		},
		{
			"the last hour of Saturday is missing: not at all", "America/Nuuk",
			[]string{"Sat 23:15-23:45"},
			"2026-03-29",
			nil,
		},
		{
			"the last hour of Saturday is missing: begins with Sunday", "America/Nuuk",
			[]string{"23:30-00:15"},
			"2026-03-29",
			[]string{"2026-03-29 00:00 -0100 to 2026-03-29 00:15 -0100", "2026-03-29 23:30 -0100 to 2026-03-30 00:15 -0100"},
		},
		{
			"the last hour of Saturday is missing: ends with Saturday", "America/Nuuk",
			[]string{"Sat 22:00-23:30"},
			"2026-03-28",
			[]string{"2026-03-28 22:00 -0200 to 2026-03-29 00:00 -0100"},
		},
		{
			"Friday is missing", "Pacific/Apia",
			[]string{"Fri 00:00-24:00"},
			"2011-12-31",
			nil,
		},
		{
			"Friday night is missing", "Pacific/Apia",
			[]string{"Fri 22:00-24:00"},
			"2011-12-31",
			nil,
		},
		{
			"Thursday night ends with Thursday", "Pacific/Apia",
			[]string{"Thu 22:00-04:00"},
			"2011-12-29",
			[]string{"2011-12-29 22:00 -1000 to 2011-12-31 00:00 +1400"},
		},
		{
			"Friday night begins with Saturday", "Pacific/Apia",
			[]string{"Fri 22:00-04:00"},
			"2011-12-31",
			[]string{"2011-12-31 00:00 +1400 to 2011-12-31 04:00 +1400"},
		},
		{
			"the nights around Friday touch", "Pacific/Apia",
			[]string{"22:00-04:00"},
			"2011-12-31",
			[]string{"2011-12-29 22:00 -1000 to 2011-12-31 04:00 +1400", "2011-12-31 22:00 +1400 to 2012-01-01 04:00 +1400"},
		},
	} {
		t.Run(c.zone+" "+c.name, func(t *testing.T) {
			loc := loadZone(t, c.zone)
			windows := windowsIn(t, loc, c.windows...)
			day, err := time.ParseInLocation(time.DateTime, c.day+" 12:00:00", loc)
			if err != nil {
				t.Fatal(err)
			}
			if got := listOpenings(windows, day); !slices.Equal(got, c.want) {
				t.Errorf("open\n%q, want\n%q", got, c.want)
			}
		})
	}
}

// listOpenings lists the openings on the calendar day of that noon. It asks every five
// minutes.
func listOpenings(windows []engine.Window, day time.Time) []string {
	var list []string
	reached := day
	for at := day.Add(-40 * time.Hour); at.Before(day.Add(40 * time.Hour)); at = at.Add(5 * time.Minute) {
		end, open := window.OpenUntil(windows, at)
		if !open || at.Before(reached) && len(list) > 0 {
			continue
		}
		reached = end
		touches := func(t time.Time) bool { return t.In(day.Location()).Format(time.DateOnly) == day.Format(time.DateOnly) }
		if touches(at) || touches(end.Add(-1)) {
			list = append(list, at.In(day.Location()).Format(stamp)+" to "+end.In(day.Location()).Format(stamp))
		}
	}
	return list
}

// If the clocks skip a window in one week, the window of the next week is
// found. If they shorten a window, a batch that does not fit does not begin in
// it.
func TestMayBeginWhereClocksChange(t *testing.T) {
	berlin := loadZone(t, "Europe/Berlin")
	saturday := time.Date(2026, 3, 28, 12, 0, 0, 0, berlin)
	for _, c := range []struct {
		window string
		takes  time.Duration
		want   string
	}{
		{"Sun 02:30-03:15", 10 * time.Minute, "2026-04-05 02:30 +0200"},
		{"Sun 02:30-03:15", 0, "2026-04-05 02:30 +0200"},
		{"Sun 02:30-03:30", 0, "2026-04-05 02:30 +0200"},
		{"Sun 01:00-04:00", 2 * time.Hour, "2026-03-29 01:00 +0100"},
		{"Sun 01:00-04:00", 3 * time.Hour, "2026-04-05 01:00 +0200"},
	} {
		if got := describeBegin(windowsIn(t, berlin, c.window), saturday, c.takes); got != c.want {
			t.Errorf("%s for %s: may begin %q, want %q", c.window, c.takes, got, c.want)
		}
	}
	// The only hour of the week that is closed is the missing hour: the opening
	// lasts two weeks.
	all := windowsIn(t, berlin, "Mon,Tue,Wed,Thu,Fri,Sat 00:00-24:00", "Sun 00:00-02:00", "Sun 03:00-24:00")
	expectOpen(t, all, time.Date(2026, 3, 22, 3, 0, 0, 0, berlin), "2026-04-05 02:00 +0200")
}

// watcher finds openings in another way: it steps through weeks minute by
// minute, with the wall clock of each window.
type watcher []engine.Window

func (ws watcher) open(at time.Time) bool { return ws.openIf(at, 0) }

// openIf reports whether a window is open if the clocks are that much ahead.
func (ws watcher) openIf(at time.Time, ahead time.Duration) bool {
	for _, w := range ws {
		_, offset := at.In(w.Location).Zone()
		local := at.UTC().Add(time.Duration(offset)*time.Second + ahead)
		today, yesterday := local.Weekday(), (local.Weekday()+6)%7
		on := func(d time.Weekday) bool { return len(w.Days) == 0 || slices.Contains(w.Days, d) }
		minute := local.Hour()*60 + local.Minute()
		if w.ToMinutes > w.FromMinutes {
			if on(today) && w.FromMinutes <= minute && minute < w.ToMinutes {
				return true
			}
		} else if on(today) && minute >= w.FromMinutes || on(yesterday) && minute < w.ToMinutes {
			return true
		}
	}
	return false
}

// until returns when the windows close, or zero if they are still open after
// three weeks.
func (ws watcher) until(at time.Time) time.Time {
	for minute := at.Truncate(time.Minute); minute.Before(at.Add(21 * 24 * time.Hour)); minute = minute.Add(time.Minute) {
		if !ws.open(minute) {
			return minute
		}
	}
	return time.Time{}
}

// begins returns when work of that duration may first begin; zero: never.
func (ws watcher) begins(at time.Time, takes time.Duration) time.Time {
	fits := func(t time.Time) bool {
		end := ws.until(t)
		return end.IsZero() || !t.Add(takes).After(end)
	}
	was := ws.open(at)
	if was && fits(at) {
		return at
	}
	for minute := at.Truncate(time.Minute).Add(time.Minute); minute.Before(at.Add(15 * 24 * time.Hour)); minute = minute.Add(time.Minute) {
		is := ws.open(minute)
		if is && !was && fits(minute) {
			return minute
		}
		was = is
	}
	return time.Time{}
}

func drawWindows(t *rapid.T) []engine.Window {
	var list []engine.Window
	for range rapid.IntRange(1, 4).Draw(t, "windows") {
		name := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"}).Draw(t, "zone")
		quarter := rapid.IntRange(0, 95)
		list = append(list, engine.Window{
			Days:        rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 6), func(d int) time.Weekday { return time.Weekday(d) }), 0, 5).Draw(t, "days"),
			FromMinutes: 15 * quarter.Draw(t, "from"), ToMinutes: 15 * (quarter.Draw(t, "to") + 1),
			Timezone: name, Location: loadZone(t, name),
		})
	}
	return list
}

// In weeks without a change of clocks, the watcher finds the same openings.
func TestWindowsAsWatched(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		windows := drawWindows(t)
		at := time.Date(2026, 1, 5, 0, 0, rapid.IntRange(0, 14*24*3600).Draw(t, "now"), 0, time.UTC)
		w := watcher(windows)
		end, open := window.OpenUntil(windows, at)
		if open != w.open(at) || open && !end.Equal(w.until(at)) {
			t.Fatalf("open %v until %s, want %v until %s", open, end, w.open(at), w.until(at))
		}
		takes := time.Duration(rapid.IntRange(0, 30*60).Draw(t, "takes")) * time.Minute
		want := w.begins(at, takes)
		ok, opens := window.MayBegin(windows, at, engine.Duration(takes))
		if ok != want.Equal(at) || !ok && !opens.Equal(want) {
			t.Fatalf("%s may begin %v, else %s; want %s", takes, ok, opens, want)
		}
	})
}

// Near a change of the clocks, a window is open only if the watcher finds an
// opening with clocks that are moved by at most an hour.
func TestWindowsNearChangesAsWatched(t *testing.T) {
	t.Parallel()
	changes := []time.Time{
		time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 1, 0, 0, 0, time.UTC), // Berlin
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC), // New York
		time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC), time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), // Lord Howe
	}
	rapid.Check(t, func(t *rapid.T) {
		windows := drawWindows(t)
		w := watcher(windows)
		change := rapid.SampledFrom(changes).Draw(t, "change")
		for at := change.Add(-2 * time.Hour); at.Before(change.Add(2 * time.Hour)); at = at.Add(5 * time.Minute) {
			_, open := window.OpenUntil(windows, at)
			moved := false
			for by := -time.Hour; by <= time.Hour; by += 15 * time.Minute {
				moved = moved || w.openIf(at, by)
			}
			if open && !moved {
				t.Fatalf("%s: open, and no clock says so", at)
			}
			if ok, _ := window.MayBegin(windows, at, 0); ok != open {
				t.Fatalf("%s: may begin %v, open %v", at, ok, open)
			}
		}
	})
}

package engine_test

import (
	"testing"
	"time"

	"holdfast/engine"
)

func TestWindowString(t *testing.T) {
	mo, tu, we, th, fr, sa, su := time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday, time.Sunday
	for _, c := range []struct {
		w    engine.Window
		want string
	}{
		{engine.Window{Days: []time.Weekday{sa, fr}, FromMinutes: 22 * 60, ToMinutes: 4 * 60, Timezone: "Europe/Berlin"}, "Fri, Sat 22:00-04:00 Europe/Berlin"},
		{engine.Window{Days: []time.Weekday{mo, tu, we, th, fr}, FromMinutes: 5, ToMinutes: 24 * 60}, "Mon-Fri 00:05-24:00 UTC"},
		{engine.Window{Days: []time.Weekday{fr, sa, su, mo, we}, ToMinutes: 60}, "Wed, Fri-Mon 00:00-01:00 UTC"},
		{engine.Window{Days: []time.Weekday{mo, we, th}, ToMinutes: 60}, "Mon, Wed, Thu 00:00-01:00 UTC"},
		{engine.Window{Days: []time.Weekday{su, mo}, ToMinutes: 60}, "Sun, Mon 00:00-01:00 UTC"},
		{engine.Window{Days: []time.Weekday{su, su}, ToMinutes: 60}, "Sun 00:00-01:00 UTC"},
		{engine.Window{Days: []time.Weekday{mo, tu, we, th, fr, sa}, ToMinutes: 60}, "Mon-Sat 00:00-01:00 UTC"},
		{engine.Window{Days: []time.Weekday{mo, tu, we, th, fr, sa, su}, ToMinutes: 60}, "daily 00:00-01:00 UTC"},
		{engine.Window{FromMinutes: 12 * 60, ToMinutes: 12 * 60}, "daily 12:00-12:00 UTC"},
	} {
		if got := c.w.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestPoolTakes(t *testing.T) {
	if got := (engine.Pool{}).Takes(); got != engine.Duration(30*time.Minute) {
		t.Errorf("a batch takes %s", got)
	}
	if got := (engine.Pool{BatchTakes: engine.Duration(time.Hour)}).Takes(); got != engine.Duration(time.Hour) {
		t.Errorf("a batch takes %s where the pool says 1h", got)
	}
}

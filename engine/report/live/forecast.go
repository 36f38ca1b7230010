package live

import (
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// endForecast is the forecast of a run that is under way. It moves with the
// delays of the run: each batch shows how much earlier or later than the
// forecast the run is.
type endForecast struct {
	made    *engine.Forecast // nil: none
	planned time.Time
	begun   bool
	delay   time.Duration
}

// addEvent takes the forecast of a plan, and follows the run.
func (f *endForecast) addEvent(e event.Event) {
	switch e.Type {
	case event.Planned:
		*f = endForecast{planned: e.Time}
		if e.Plan != nil && e.Plan.Forecast != nil && e.Plan.Forecast.Known {
			f.made = e.Plan.Forecast
		}
	case event.StageStarted: // the operator may have thought for a while
		if f.made != nil && !f.begun {
			f.delay = e.Time.Sub(f.planned)
		}
		f.begun = true
	case event.BatchStarted:
		f.begun = true
		if f.made == nil || e.Batch < 1 || e.Batch > len(f.made.Batches) {
			return
		}
		if b := f.made.Batches[e.Batch-1]; !b.MissesWindow {
			f.delay = e.Time.Sub(b.Begins)
		}
	default: // the other events do not tell how late the run is
	}
}

// ends returns when the run will end, or the zero time if nobody knows.
func (f *endForecast) ends() time.Time {
	if f.made == nil || f.made.Ends.IsZero() {
		return time.Time{}
	}
	return f.made.Ends.Add(f.delay)
}

// line returns a line about the end of the run, or "".
func (f *endForecast) line(now time.Time) string {
	ends := f.ends().UTC()
	switch {
	case ends.IsZero():
		return ""
	case ends.Before(now):
		return "forecast: later than in earlier runs"
	case ends.Sub(now) < 20*time.Hour:
		return "forecast: until " + ends.Format("15:04 UTC") + ", " + formatElapsed(now, ends) + " left"
	}
	return "forecast: until " + ends.Format("Mon 2006-01-02 15:04 UTC")
}

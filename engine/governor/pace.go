package governor

import (
	"math"
	"time"

	"holdfast/engine"
)

// Knobs are the settings of a host that stages. The staging unit runs for
// Slice. Then the unit is frozen, its data are flushed, and it stays frozen for
// Pause.
type Knobs struct {
	Slice time.Duration // 0: the unit stays frozen
	Pause time.Duration
	Rate  int64 // rate in bytes per second, where holdfast serves the content; never 0
}

// The knobs at the floor and at full speed. At full speed the unit is only
// frozen while its data are flushed, so etcd has to wait for the unwritten data
// of one slice at most.
const (
	fullSlice = 100 * time.Millisecond
	fullRate  = 200 << 20
)

var (
	floorSlice = time.Duration(engine.FloorPace().Slice)
	floorPause = time.Duration(engine.FloorPace().Pause)
)

// FloorShare returns the least share of the time in which a host makes
// progress, including pauses.
func FloorShare() float64 {
	return float64(floorSlice) / float64(floorSlice+floorPause) * float64(leastRun) / float64(leastRun+longestPause)
}

// FloorRate is the lowest rate at which content is served, in bytes per second.
const FloorRate = engine.FloorRate

// shortPause is the pace without pauses. Below it, slices have their minimum:
// short slices with short pauses fetch as much as long slices with long pauses,
// but etcd waits less for each, and small objects, which are flushed one by
// one, need many slices. Above it, slices grow.
const shortPause = 0.4

// knobsAt returns the knobs for a pace between 0 and 1. Slice and rate grow
// exponentially, so that equal steps of the pace have equal relative effects.
func knobsAt(pace float64) Knobs {
	longer := max(pace-shortPause, 0) / (1 - shortPause)
	return Knobs{
		Slice: interpolateDuration(floorSlice, fullSlice, longer),
		Pause: time.Duration(float64(floorPause) * math.Pow(max(1-pace/shortPause, 0), 3)).Round(time.Millisecond),
		Rate:  int64(FloorRate * math.Pow(fullRate/FloorRate, pace)),
	}
}

func interpolateDuration(low, high time.Duration, pace float64) time.Duration {
	return time.Duration(float64(low) * math.Pow(float64(high)/float64(low), pace)).Round(time.Millisecond)
}

func pauseKnobs() Knobs { return Knobs{Pause: floorPause, Rate: FloorRate} }

package hostscript_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// TestPaceScriptHasBothSpeeds checks the order of the numbers that the staging unit reads.
func TestPaceScriptHasBothSpeeds(t *testing.T) {
	speed := func(slice, pause time.Duration, rate int64) hostscript.Speed {
		return hostscript.Speed{Pace: engine.Pace{Slice: engine.Duration(slice), Pause: engine.Duration(pause)}, Rate: rate}
	}
	script := hostscript.PaceScript(12, speed(20*time.Millisecond, 0, 5<<20), speed(time.Millisecond, 200*time.Millisecond, 1<<20))
	if want := "\npace='12 20 0 1 200 5242880 1048576'\n"; !strings.Contains(script, want) {
		t.Errorf("no %q in\n%s", want, script)
	}
}

// TestReadLevers checks that each known lever is read once, in the order of the host, and that other lines are ignored.
func TestReadLevers(t *testing.T) {
	got := hostscript.ReadLevers("freeze no a daemon does the work\nio yes\nbrake yes\nio no later\n\nfreeze yes\n")
	want := []engine.Lever{{Name: engine.FreezeLever, Reason: "a daemon does the work"}, {Name: engine.IOLever, InForce: true}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := hostscript.ReadLevers(""); got != nil {
		t.Errorf("%+v of a unit that has not started", got)
	}
}

package idle

import (
	"testing"
	"time"
)

func TestProcessors(t *testing.T) {
	p, err := ReadProcessors()
	if err != nil || p.idle <= 0 || p.all <= p.idle {
		t.Errorf("%+v, %v", p, err)
	}
	if taken := (Processors{idle: 30, all: 140}).TakenSince(Processors{idle: 20, all: 100}); taken != 0.75 {
		t.Errorf("taken %g", taken)
	}
	if taken := p.TakenSince(p); taken != 0 {
		t.Errorf("taken %g in no time", taken)
	}
}

func TestMeasureStart(t *testing.T) {
	if start, err := measureStart(t.Context()); err != nil || start <= 0 {
		t.Errorf("%s, %v", start, err)
	}
}

func TestIsBusy(t *testing.T) {
	for load, want := range map[Load]bool{
		{Taken: 0.1, Gap: 60 * time.Millisecond}:  false,
		{Taken: 0.6, Gap: 60 * time.Millisecond}:  true,
		{Taken: 0.1, Gap: 130 * time.Millisecond}: true,
	} {
		if load.IsBusy() != want {
			t.Errorf("%s: busy is %t", load, !want)
		}
	}
}

func TestASlowDiskExcusesDelaysOfItsOwnLength(t *testing.T) {
	quiet, busy := Load{Taken: 0.1}, Load{Taken: 0.9}
	for name, c := range map[string]struct {
		miss  Miss
		load  Load
		stall time.Duration
		want  bool
	}{
		"a quick disk":              {Miss{Delay: 300 * time.Millisecond}, quiet, 100 * time.Millisecond, false},
		"as long as two syncs":      {Miss{Delay: 900 * time.Millisecond}, quiet, 400 * time.Millisecond, true},
		"longer than two syncs":     {Miss{Delay: 901 * time.Millisecond}, quiet, 400 * time.Millisecond, false},
		"no delay, a slow disk":     {Miss{}, quiet, 400 * time.Millisecond, false},
		"no delay, a busy machine":  {Miss{}, busy, 0, true},
		"no delay, a slow machine":  {Miss{}, Load{Start: 3 * time.Millisecond}, 0, true},
		"no delay, quick starts":    {Miss{}, Load{Start: time.Millisecond}, 0, false},
		"a delay, a slow machine":   {Miss{Delay: time.Second}, Load{Start: 3 * time.Millisecond}, 0, false},
		"certain, whatever is slow": {Miss{Delay: time.Second, Certain: true}, busy, time.Minute, false},
	} {
		if got := c.miss.IsExcused(c.load, c.stall); got != c.want {
			t.Errorf("%s: excused is %t", name, got)
		}
	}
}

func TestAvailableMemory(t *testing.T) {
	if n, err := AvailableMemory(); err != nil || n < 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

package idle

import (
	"testing"
	"time"
)

func TestProcessorTime(t *testing.T) {
	idle, all, err := processorTime()
	if err != nil || idle <= 0 || all <= idle {
		t.Errorf("idle %d of %d, %v", idle, all, err)
	}
}

func TestIsBusy(t *testing.T) {
	for load, want := range map[Load]bool{
		{Taken: 0.1, Gap: 60 * time.Millisecond}:    false,
		{Taken: 0.6, Gap: 60 * time.Millisecond}:    true,
		{Taken: 0.1, Gap: 130 * time.Millisecond}:   true,
		{Taken: 0.1, Stall: 60 * time.Millisecond}:  false,
		{Taken: 0.1, Stall: 400 * time.Millisecond}: true,
	} {
		if load.IsBusy() != want {
			t.Errorf("%s: busy is %t", load, !want)
		}
	}
}

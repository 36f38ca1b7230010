package scenario

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine/event"
)

// TestTransferRates checks that transfers are found to keep the rates, and to exceed the rate of a host or the total rate.
func TestTransferRates(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	measured := transfers{hosts: map[string]*hostTransfer{}}
	for _, host := range []string{"a", "b"} {
		measured.addEvent(event.Event{Type: event.StepStarted, Host: host, Time: began})
		measured.addEvent(event.Event{Type: event.StepProgress, Host: host, Time: began.Add(5 * time.Second), Progress: &event.Progress{Bytes: 10 << 20}})
		measured.addEvent(event.Event{Type: event.StepProgress, Host: host, Time: began.Add(10 * time.Second), Progress: &event.Progress{Bytes: 41 << 20, Ended: true}})
		measured.addEvent(event.Event{Type: event.StepStarted, Host: host, Time: began.Add(time.Minute)}) // a later step
	}
	for name, x := range map[string]struct {
		total, each int64
		err         string
	}{
		"kept":     {8 << 20, 4 << 20, ""},
		"of hosts": {8 << 20, 4<<20 - 1<<18, "got 42991616 bytes in 10s"},
		"in total": {8<<20 - 1<<18, 4 << 20, "85983232 bytes in 10s"},
	} {
		_, err := measured.checkRates(x.total, x.each)
		if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&transfers{}).checkRates(1, 1); err == nil {
		t.Error("no error without transfers")
	}
}

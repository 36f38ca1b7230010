package lines_test

import (
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
	"holdfast/engine/report/lines"
	"holdfast/engine/report/live"
	"holdfast/engine/report/termtext"
)

// TestTransfersAreShown checks the lines, the live status and the totals of a transfer from the bastion.
func TestTransfersAreShown(t *testing.T) {
	began := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	var out strings.Builder
	plain := &lines.Writer{W: &out, Short: true}
	status := live.NewStatus(termtext.Style{})
	show := func(after time.Duration, e event.Event) {
		e.Time, e.Host, e.Step, e.Kind = began.Add(after), "w-1", "stage", engine.StageStep
		if e.Progress != nil {
			e.Type, e.Took = event.StepProgress, engine.Duration(after)
		}
		status.AddEvent(e)
		if err := plain.Emit(e); err != nil {
			t.Fatal(err)
		}
	}
	show(0, event.Event{Type: event.StepStarted})
	for i := range int64(16) {
		show(time.Duration(i)*5*time.Second, event.Event{Progress: &event.Progress{Bytes: i << 20, TotalBytes: 100 << 20, BytesPerSecond: 200 << 10, Remaining: engine.Duration(8 * time.Minute)}})
	}
	if got := status.Render(live.Size{Width: 100}, began.Add(75*time.Second)); !strings.Contains(got, "15 MiB of 100 MiB, 200 KiB/s, 8m0s left") {
		t.Errorf("live status:\n%s", got)
	}
	show(80*time.Second, event.Event{Progress: &event.Progress{Bytes: 16 << 20, BytesPerSecond: 200 << 10, Ended: true}})
	show(81*time.Second, event.Event{Type: event.StepEnded, Took: engine.Duration(81 * time.Second)})
	plain.EventLine(event.Event{Type: event.HostDone, Host: "w-1", Time: began.Add(90 * time.Second)}, nil)
	end := plain.EventLine(event.Event{Type: event.RunEnded, End: &event.RunEnd{Updated: []string{"w-1"}, Hosts: []event.HostTotals{{Host: "w-1", FetchedBytes: 16 << 20}}}, Time: began.Add(90 * time.Second)}, nil)
	want := `  w-1: stage: 6 MiB of 100 MiB, 200 KiB/s, 8m0s left
  w-1: stage: 12 MiB of 100 MiB, 200 KiB/s, 8m0s left
  w-1: stage: 16 MiB from the bastion, 200 KiB/s
`
	if !strings.HasPrefix(out.String(), want) {
		t.Errorf("lines:\n%swant:\n%s", out.String(), want)
	}
	for _, want := range []string{"FETCHED", "16 MiB", "from the bastion: 16 MiB to 1 host"} {
		if !strings.Contains(end, want) {
			t.Errorf("no %q in the summary:\n%s", want, end)
		}
	}
}

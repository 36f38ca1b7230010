package tables_test

import (
	"fmt"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/report/tables"
	"holdfast/engine/report/termtext"
)

// TestReservations: one line names the hosts by kind, and shortens a long list.
func TestReservations(t *testing.T) {
	list := []engine.Reservation{{Host: "w-1", Kind: engine.LeavingHost}, {Host: "w-2", Kind: engine.HeldHost}, {Host: "w-3", Kind: engine.HeldHost}, {Host: "w-4", Kind: engine.FlaggedHost}}
	for want, list := range map[string][]engine.Reservation{
		"": nil,
		"Left alone: held: w-[2-3]; maintenance: w-4; leaving: w-1\n\n": list,
	} {
		var b strings.Builder
		if err := tables.WriteReservations(&b, list, termtext.Style{}); err != nil || b.String() != want {
			t.Errorf("%v, %q, not %q", err, b.String(), want)
		}
	}
	list = nil
	for i := range 20 {
		list = append(list, engine.Reservation{Host: fmt.Sprintf("host-%c", 'a'+i), Kind: engine.HeldHost})
	}
	var b strings.Builder
	if err := tables.WriteReservations(&b, list, termtext.Style{}); err != nil || !strings.Contains(b.String(), "12 more") {
		t.Errorf("%v, %q", err, b.String())
	}
}

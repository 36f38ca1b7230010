package simulator

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/journal"
	"holdfast/engine/rollout"
	"holdfast/engine/wire"
)

// Inherit reads the journals of earlier runs, and sets the holds and hosts that a later run of their bastion takes over.
func Inherit(r *rollout.Run, earlier ...*Bastion) {
	var runs []journal.Run
	for _, b := range earlier {
		runs = append(runs, b.journaledRun())
	}
	slices.SortFunc(runs, func(a, b journal.Run) int { return cmp.Compare(b.ID, a.ID) }) // the newest first
	left := journal.SummarizeRuns(runs, r.Inventory.Site, engine.HoldOwner{Run: r.ID, Bastion: r.Start.Bastion})
	r.Dead, r.Awaited, r.Retry, r.CompletedOS = left.Dead, left.Rebooting, left.Failed, left.Complete
}

// journaledRun reads the run from the text of its journal.
func (b *Bastion) journaledRun() journal.Run {
	var text bytes.Buffer
	for _, e := range b.Events() {
		line, err := wire.MarshalEvent(e)
		if err != nil {
			panic(fmt.Sprintf("simulator: journal of %s: %s", b.ID, err)) // events always marshal
		}
		text.Write(line)
	}
	return journal.ParseRun(b.ID, b.ID, &text)
}

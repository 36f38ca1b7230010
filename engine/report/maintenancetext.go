package report

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/event"
)

// maintenanceText returns the outcome of the work of a person on holds, such as "hold: 1 host held".
func maintenanceText(end event.RunEnd) string {
	done := map[engine.MaintenanceAction]string{engine.HoldHosts: "held", engine.ExtendHolds: "held for longer", engine.ReleaseHosts: "released", engine.PowerHostsOn: "switched on", engine.PowerHostsOff: "switched off", engine.ResetHosts: "reset"}
	var parts []string
	add := func(n int, word string) {
		switch {
		case n == 1:
			parts = append(parts, "1 host "+word)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d hosts %s", n, word))
		}
	}
	kinds := map[engine.FailureKind]int{}
	for _, f := range end.Verdict.Failures {
		kinds[f.Kind]++
		if f.Kind == engine.JournalFailure {
			parts = append(parts, describeOutcome(f))
		}
	}
	add(len(end.Updated), done[end.Maintenance])
	refused := kinds[engine.HeldFailure] + kinds[engine.RefusedFailure]
	add(refused, "refused")
	add(kinds[engine.UnreachableFailure], "unreachable")
	add(kinds[engine.StoppedFailure], "not reached before the command was stopped")
	add(len(end.Verdict.Failures)-refused-kinds[engine.UnreachableFailure]-kinds[engine.StoppedFailure]-kinds[engine.JournalFailure], "failed")
	if len(parts) == 0 {
		parts = []string{"nothing was to do"}
	}
	return string(end.Maintenance) + ": " + strings.Join(parts, ", ")
}

package tables

import (
	"fmt"
	"io"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
	"holdfast/engine/textutil"
)

// maxReserved is the number of names of each kind that WriteReservations writes.
const maxReserved = 8

// WriteReservations writes one line that names the reserved hosts by the kind of their reservation, and an empty line. The reasons
// are in the tables after it.
func WriteReservations(w io.Writer, list []engine.Reservation, style termtext.Style) error {
	var groups textutil.Groups[engine.ReservationKind, string]
	for _, r := range list {
		groups.Add(r.Kind, r.Host)
	}
	var parts []string
	for _, kind := range []engine.ReservationKind{engine.HeldHost, engine.FlaggedHost, engine.LeavingHost} {
		if hosts := groups.Of(kind); len(hosts) > 0 {
			names := textutil.FoldNames(hosts)
			shown := textutil.AndMore(names[:min(maxReserved, len(names))], len(names))
			parts = append(parts, string(kind)+": "+strings.Join(shown, ", "))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(w, "%s %s\n\n", style.Yellow("Left alone:"), strings.Join(parts, "; "))
	return err
}

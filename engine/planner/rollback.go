package planner

import (
	"slices"

	"holdfast/engine"
)

func wasRolledBack(t engine.Target) bool {
	os, booted := t.Desired.OS, t.Facts.Booted()
	return os != nil && booted != nil && booted.Digest != os.Digest() && slices.Contains(t.Facts.Rejected, os.Digest())
}

// previousOS returns the digest of the OS to return to: the booted OS if the host gets
// another, else the OS that the hold of a run names.
func previousOS(t engine.Target, newOS bool) string {
	if booted := t.Facts.Booted(); newOS && booted != nil {
		return booted.Digest
	}
	if h := t.Facts.Hold; h != nil && h.Kind == engine.RunHold {
		return h.PreviousOS
	}
	return ""
}

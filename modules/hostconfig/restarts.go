package hostconfig

import (
	"slices"

	"holdfast/engine"
	"holdfast/engine/resource"
)

// dueRestarts returns the services of the host that must restart after a write, and the boots of these writes.
func dueRestarts(t engine.Target) map[string]resource.BootID {
	boot, earlier := t.Facts.BootID, recordedRestarts(t.Facts)
	due := map[string]resource.BootID{}
	for _, s := range t.Facts.Survivors {
		switch before, known := earlier[s.Unit]; {
		case known && boot.SharesKernel(before):
			due[s.Unit] = before
		case slices.Contains(t.Restarts, s.Unit):
			due[s.Unit] = boot
		}
	}
	return due
}

// lacksRestarts reports whether the record of the host does not have all services that must restart after a write.
func lacksRestarts(t engine.Target) bool {
	recorded := recordedRestarts(t.Facts)
	for unit, boot := range dueRestarts(t) {
		if recorded[unit] != boot {
			return true
		}
	}
	return false
}

func recordedRestarts(f engine.Facts) map[string]resource.BootID {
	if f.Config == nil || unfinishedWrite(f.Config.Applied) == nil {
		return nil
	}
	return f.Config.Applied.Unfinished.Restarts
}

package planner

import (
	"slices"

	"holdfast/engine"
)

func releaseStep(t engine.Target, r engine.Release) engine.Step {
	return engine.Step{Name: "release", On: t.Host.Name, Do: engine.Op{Release: &r}, Timeout: engine.CommandTimeout}
}

// releaseOfMatching returns the release of a host that matches after these steps. It
// accepts a rejected OS that now runs well. Without a reboot the release demands the
// boot of the facts, because the host may have booted another OS since.
func releaseOfMatching(f engine.Facts, roll []engine.Step) engine.Release {
	digest, boot := "", f.BootID
	if booted := f.Booted(); booted != nil {
		digest = booted.Digest
	}
	for _, s := range roll {
		if s.Do.AwaitBoot != nil {
			digest, boot = s.Do.AwaitBoot.Digest, ""
		}
	}
	if !slices.Contains(f.Rejected, digest) {
		return engine.Release{Updated: true}
	}
	return engine.Release{Updated: true, Accepts: digest, BootID: boot}
}

package planner

import (
	"slices"

	"holdfast/engine"
)

func releaseStep(t engine.Target, r engine.Release) engine.Step {
	return engine.Step{Name: "release", On: t.Host.Name, Do: engine.Op{Release: &r}, Timeout: engine.CommandTimeout}
}

// releaseOfMatching is the release of a host that matches after these steps. An OS from
// which it was rolled back once, and with which it is well now, has not failed
// there any more. A host that is not rebooted may have gone down since it was
// looked at, into another OS: it has to be in the boot that was seen. One that
// is rebooted is seen to have booted the OS, if its step demands one.
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

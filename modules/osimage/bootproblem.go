package osimage

import (
	"fmt"
	"slices"

	"holdfast/engine"
)

// bootProblem returns why a reboot into the OS would bring back the running OS, or nil: the
// kernel does not fit into /boot, or the host came back from such a reboot before, and nothing
// in /boot has changed since.
func bootProblem(u osUpdate, f engine.Facts) error {
	if staged := f.Staged(); f.BootLacksBytes > 0 && staged != nil && staged.Digest == u.digest {
		return fmt.Errorf("/boot lacks %d MiB for the kernel and the initramfs of %s, which is staged; remove old kernels and other files from /boot, or deployments with ostree admin undeploy",
			(f.BootLacksBytes+1<<20-1)>>20, engine.ShortDigest(u.digest))
	}
	hold := f.Hold
	if hold == nil {
		hold = f.Unproven
	}
	if hold == nil || hold.NotBooted == nil || f.BootState == "" {
		return nil
	}
	if was := *hold.NotBooted; was.OS != u.digest || was.BootState != f.BootState {
		return nil
	}
	return fmt.Errorf("run %s rebooted it into %s, and it came back with its old OS (%s); nothing in /boot has changed since, so another reboot would end in the same way; repair it (%s), or, to try again all the same: holdfast release --force --accept-units %s",
		hold.Run, engine.ShortDigest(u.digest), hold.Reason, finalizeLog, f.Host)
}

// nextBoot returns the ID of the deployment that the boot loader starts next; "" if that is the booted one, or not known.
// ostree lists the deployments in the order of the boot loader.
func nextBoot(list []engine.Deployment) string {
	next := slices.IndexFunc(list, func(d engine.Deployment) bool { return !d.Staged })
	if next < 0 || list[next].Booted || !slices.ContainsFunc(list, func(d engine.Deployment) bool { return d.Booted }) {
		return ""
	}
	return list[next].ID
}

// nextBootProblem returns why a host without changes does not match, or nil: its boot loader would start another deployment
// than the running one. A rollback that is killed before its reboot leaves this behind. Such a host must not be released as
// matching, because its OS would change at its next reboot, or when it loses its power.
func nextBootProblem(f engine.Facts) error {
	if f.NextBoot == "" {
		return nil
	}
	next := f.NextBoot
	for _, d := range f.Deployments {
		if d.ID == f.NextBoot {
			next = describeDeployment(d)
		}
	}
	return fmt.Errorf("it would boot %s next, not the running %s: somebody, or a rollback that was interrupted, has made it the default; make the running OS the default again (ostree admin set-default N, where N is its place in ostree admin status, from 0; or with bootc: bootc rollback), or reboot the host",
		next, describeDeployment(*f.Booted()))
}

// finalizeLog is the command that shows why ostree could not finalize.
const finalizeLog = "journalctl -b -1 -u ostree-finalize-staged.service"

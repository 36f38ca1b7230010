package osimage

import (
	"fmt"

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
	if was := *hold.NotBooted; was.OS != u.digest || was.State != f.BootState {
		return nil
	}
	return fmt.Errorf("run %s rebooted it into %s, and it came back with its old OS (%s); nothing in /boot has changed since, so another reboot would end in the same way; repair it (%s), or, to try again all the same: holdfast release --force --accept-units %s",
		hold.Run, engine.ShortDigest(u.digest), hold.Reason, finalizeLog, f.Host)
}

// finalizeLog is the command that shows why ostree could not finalize.
const finalizeLog = "journalctl -b -1 -u ostree-finalize-staged.service"

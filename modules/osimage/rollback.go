package osimage

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

// rollbackSteps make a host that has failed with a new OS boot the previous
// one, once for each OS: an OS that was rejected before is not rolled back, so
// that no host goes back and forth. There are no steps if the OS does not
// change.
//
// The host notes the failed digest first. The previous deployment has its own
// /etc from the time when the new one was finalized, with everything that the
// run had written until then. That matches the record in /var.
func rollbackSteps(t engine.Target, u osUpdate, tool driver, old *engine.Deployment) []engine.Step {
	if t.Pool.OnFailure != engine.RollbackFailed || old == nil || u.digest == old.Digest || slices.Contains(t.Facts.Rejected, u.digest) {
		return nil
	}
	commit := commitOf(*old)
	if commit == "" {
		return nil
	}
	vars := func() map[string]string {
		return map[string]string{"digest": "", "args": "", "bad": u.digest, "good": old.Digest, "previous": commit, "tool": u.os.Driver}
	}
	check := shell.Script{Vars: vars(), Text: libScript + deploymentsScript + rollbackScript}
	check.Vars["rejected"] = hostscript.RejectedPath
	job := shell.Script{Vars: vars(), Text: libScript + deploymentsScript + tool.restoreFunctions() + rollbackJobScript + rebootScript}
	order := orderReboot(t, rebootOrder{"roll back", " back into " + old.Digest, check, job})
	return []engine.Step{syncDisks(t), order, {
		Name: "wait for the previous OS", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: old.Digest}}, // the ID of the failed boot is not known yet
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// RollbackSteps returns the steps by which a host that an earlier run left with another
// OS returns to its previous OS.
func (Module) RollbackSteps(t engine.Target) []engine.Step {
	booted, os, hold := t.Facts.Booted(), t.Desired.OS, t.Facts.Hold
	if booted == nil || os == nil || hold == nil || hold.PreviousOS == "" || booted.Digest != os.Digest() {
		return nil
	}
	tool, err := driverOf(*os)
	i := slices.IndexFunc(t.Facts.Deployments, func(d engine.Deployment) bool { return !d.Staged && d.Digest == hold.PreviousOS })
	if err != nil || i < 0 {
		return nil
	}
	return rollbackSteps(t, osUpdate{os: *os, digest: booted.Digest}, tool, &t.Facts.Deployments[i])
}

// commitOf returns the ostree commit of a deployment, also if its digest is of
// an image.
func commitOf(d engine.Deployment) string {
	commit, _, _ := strings.Cut(d.ID[strings.LastIndex(d.ID, "-")+1:], ".")
	if !shell.IsHexadecimal(commit, 64) {
		return ""
	}
	return commit
}

// rolledBack reports whether the host was rolled back from an OS that is still
// on its disk, until the next one is staged. Its record may have kernel
// arguments of that OS.
func rolledBack(f engine.Facts) bool {
	return slices.ContainsFunc(f.Deployments, func(d engine.Deployment) bool {
		return !d.Booted && !d.Staged && slices.Contains(f.Rejected, d.Digest)
	})
}

package modules

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// rollbackSteps make a host that has failed with a new OS boot the one it ran
// before, once for each OS: one that has been rejected already is not, so that
// no host goes back and forth. There are none where the OS stays.
//
// The host notes the digest that failed before anything is done about it. The
// previous deployment has its own /etc, as it was when the new one was finalized:
// with what the run had written to the host, as the record in /var says.
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
	check := script{vars: vars(), text: libScript + deploymentsScript + rollbackScript}
	check.vars["rejected"] = hostscript.RejectedPath
	job := script{vars: vars(), text: libScript + deploymentsScript + tool.restoreFunctions() + rollbackJobScript + rebootScript}
	order := orderReboot(t, "roll back", " back into "+old.Digest, check, job)
	return []engine.Step{syncDisks(t), order, {
		Name: "wait for the previous OS", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: old.Digest}}, // out of a boot that is not known yet
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// Back gives how a host that was left behind with another OS returns to the
// one it ran before.
func (operatingSystem) Back(t engine.Target) []engine.Step {
	booted, os, hold := t.Facts.Booted(), t.Desired.OS, t.Facts.Hold
	if booted == nil || os == nil || hold == nil || hold.From == "" || booted.Digest != os.Digest() {
		return nil
	}
	tool, err := driverOf(*os)
	i := slices.IndexFunc(t.Facts.Deployments, func(d engine.Deployment) bool { return !d.Staged && d.Digest == hold.From })
	if err != nil || i < 0 {
		return nil
	}
	return rollbackSteps(t, osUpdate{os: *os, digest: booted.Digest}, tool, &t.Facts.Deployments[i])
}

// commitOf is the ostree commit of a deployment, whatever its digest is of.
func commitOf(d engine.Deployment) string {
	commit, _, _ := strings.Cut(d.ID[strings.LastIndex(d.ID, "-")+1:], ".")
	if !isHexadecimal(commit, 64) {
		return ""
	}
	return commit
}

// rolledBack reports whether the host was rolled back from an OS that is still
// on its disk, as it is until the next comes. Its record may tell of kernel
// arguments that went with that OS.
func rolledBack(f engine.Facts) bool {
	return slices.ContainsFunc(f.Deployments, func(d engine.Deployment) bool {
		return !d.Booted && !d.Staged && slices.Contains(f.Rejected, d.Digest)
	})
}

package osimage

import (
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

// rollbackSteps returns the steps that make a host boot its previous OS after the
// new OS has failed. It returns no steps if the OS does not change, or if the
// host has rejected the new OS before: otherwise a host might go back and forth.
//
// First, the script adds the failed digest to the rejected digests of the host.
// The previous deployment has its own /etc, which is as old as the finalize of
// the new OS, and has everything that the run had written until then. So /etc
// matches the record in /var.
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
	check := shell.Script{Vars: vars(), Text: shell.Text(rollbackOrderText)}
	check.Vars["rejected"] = hostscript.RejectedPath
	job := shell.Script{Vars: vars(), Text: shell.Text(tool.rollbackJobText())}
	order := orderReboot(t, rebootOrder{"roll back", " back into " + old.Digest, check, job})
	return []engine.Step{syncDisks(t), order, {
		Name: "wait for the previous OS", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: old.Digest}}, // not by boot ID: the ID of the failed boot is not known yet
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// RollbackSteps returns the steps that roll back a host that an earlier run left
// with another OS.
func (module) RollbackSteps(t engine.Target) []engine.Step {
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

func commitOf(d engine.Deployment) string {
	commit, _, _ := strings.Cut(d.ID[strings.LastIndex(d.ID, "-")+1:], ".")
	if !shell.IsHexadecimal(commit, 64) {
		return ""
	}
	return commit
}

// rolledBack reports whether the host was rolled back from an OS that it still
// has on disk. The record of such a host may have kernel arguments of that OS.
// The next staging removes that OS.
func rolledBack(f engine.Facts) bool {
	return slices.ContainsFunc(f.Deployments, func(d engine.Deployment) bool {
		return !d.Booted && !d.Staged && slices.Contains(f.Rejected, d.Digest)
	})
}

package osimage

import (
	"maps"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

const (
	// syncTimeout bounds the time in which a host writes all cached data to disk.
	syncTimeout = engine.Duration(3 * time.Minute)
	// orderTimeout bounds the order to reboot. It is longer than the timeout on
	// the host, so that the message of a refusal arrives.
	orderTimeout = engine.Duration(2 * time.Minute)
	// finalizeTimeout bounds the finalization in an order of a soft reboot or a kexec. It is longer than that of
	// ostree-finalize-staged.service (5 minutes).
	finalizeTimeout = engine.Duration(6 * time.Minute)
)

// timeOrder sets asked to the uptime of the host when the order to reboot
// arrived.
const timeOrder = "read -r asked rest </proc/uptime\n"

var (
	finalizeOrderText = shareOrder(hostscript.CheckBootScript() + bootSpaceScript + hostscript.SurvivorsScript() + finalizeScript)
	plainOrderText    = shareOrder(hostscript.CheckBootScript() + deploymentsScript + plainRebootScript)
	rollbackOrderText = shareOrder(deploymentsScript + rollbackScript)
)

func finalizeSteps(t engine.Target, u osUpdate) []engine.Step {
	vars := map[string]string{"digest": u.digest, "args": u.args.changeDigest(), "kernels": kernelDir, "deploys": deployDir}
	return rebootSteps(t, "finalize", finalizeOrderText, vars)
}

// PlainReboot returns the steps that reboot a host into the running OS, for
// changes that take effect at boot. The reboot is refused if an unlocked
// deployment is staged, or if another one is the default, because the host would boot that deployment. A full reboot
// drops a staged and locked deployment, which must then be staged again. The steps wait for a boot of the running OS, if
// the facts have it: the default may change after its check, and the boot loader may start another deployment.
func PlainReboot(t engine.Target) []engine.Step {
	return rebootSteps(t, "reboot", plainOrderText, map[string]string{"digest": "", "args": ""})
}

// rebootSteps returns the steps that sync the disks, run an order with its check, reboot the host
// if the check passes, and wait for another boot with the OS vars["digest"] ("": the running OS,
// or any one if it is not known). The reboot is of the kind t.Reboot.
func rebootSteps(t engine.Target, name string, text *engine.SharedText, vars map[string]string) []engine.Step {
	digest, what := vars["digest"], ""
	if digest != "" {
		what = " into " + digest
	}
	order := shell.Script{Vars: maps.Clone(vars), Boot: t.Facts.BootID, Text: shell.Text(text)}
	job := shell.Script{Vars: vars, Text: shell.Text(rebootJobText)}
	var kind engine.RebootKind
	switch t.Reboot {
	case engine.SoftReboot:
		kind, job.Text = t.Reboot, shell.Text(softRebootJobText)
		job.Vars["fallback"] = fallbackOf(t)
	case engine.KexecReboot:
		kind, job.Text = t.Reboot, shell.Text(kexecRebootJobText)
	case engine.FullReboot:
	}
	if kind != "" {
		order.Vars["kind"] = string(kind)
	}
	if booted := t.Facts.Booted(); digest == "" && booted != nil {
		digest = booted.Digest
	}
	reboot := orderReboot(t, rebootOrder{name, what, order, job})
	if kind != "" && vars["digest"] != "" {
		reboot.Timeout += finalizeTimeout
	}
	return []engine.Step{syncDisks(t), reboot, {
		Name: "wait for boot", On: t.Host.Name,
		Do: engine.Op{AwaitBoot: &engine.AwaitBoot{
			BootID: t.Facts.BootID, Digest: digest, Kind: kind,
			Kept: slices.ContainsFunc(t.Facts.Deployments, func(d engine.Deployment) bool { return d.Digest == digest && !d.Staged }),
		}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// fallbackOf returns "yes" if a host that cannot soft reboot may reboot in full instead.
func fallbackOf(t engine.Target) string {
	if t.Pool.Reboot.Soft == engine.RequireSoft || t.MustSurvive {
		return "no"
	}
	return "yes"
}

// syncDisks returns the step that runs before the order to reboot and before the
// last checks of the engine. After these, little is left to write.
func syncDisks(t engine.Target) engine.Step {
	return shell.Step(t, "sync disks", shell.BuildStrict(hostscript.CheckHoldSnippet(t.Owner()), shell.Script{Text: shell.Text(syncText)}), syncTimeout)
}

// rebootOrder describes a reboot that a transient unit of the host carries out.
type rebootOrder struct {
	name       string       // name of the step
	message    string       // text after the name in messages about the reboot
	check, job shell.Script // the job reboots the host, and starts only if the check passes
}

// orderReboot returns the step that runs the check on a host that the run holds,
// and then starts the job as a transient unit. The text of the check ends with order.sh.
func orderReboot(t engine.Target, o rebootOrder) engine.Step {
	o.check.Vars["unit"], o.check.Vars["what"] = hostscript.RebootUnit, o.message
	o.check.Vars["member"] = "no"
	if t.Host.Cluster != "" {
		o.check.Vars["member"] = "yes"
	}
	held := hostscript.CheckHoldSnippet(t.Owner())
	o.job.Text = slices.Concat(held, o.job.Text)
	o.check.Job = engine.JoinScripts(o.job.Build())
	begin := engine.JoinScripts(held, engine.NewScript(timeOrder))
	step := shell.Step(t, o.name, shell.BuildStrict(begin, o.check), orderTimeout)
	step.Reboots = true
	return step
}

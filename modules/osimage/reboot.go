package osimage

import (
	"maps"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

const (
	// syncTimeout bounds the time to write all cached data of a host to disk.
	syncTimeout = engine.Duration(3 * time.Minute)
	// orderTimeout bounds the order to reboot. It is longer than the timeout on
	// the host, so that the message of a refusal arrives.
	orderTimeout = engine.Duration(2 * time.Minute)
)

// timeOrder notes the uptime of the host at which the order to reboot arrived.
const timeOrder = "read -r asked rest </proc/uptime\n"

func finalizeSteps(t engine.Target, u osUpdate) []engine.Step {
	vars := map[string]string{"digest": u.digest, "args": u.args.changeDigest()}
	return rebootSteps(t, "finalize", finalizeScript, vars)
}

// PlainReboot reboots into the running OS, for changes that take effect at
// boot. It refuses if a deployment is staged and not locked, because the host
// would boot that one. A reboot drops a staged and locked deployment, which
// only has to be staged again.
func PlainReboot(t engine.Target) []engine.Step {
	return rebootSteps(t, "reboot", plainRebootScript, map[string]string{"digest": "", "args": ""})
}

// rebootSteps sync the disks of the host, run a check, reboot the host if the
// check passes, and wait for another boot with the OS of vars["digest"] (""
// accepts any OS).
func rebootSteps(t engine.Target, name, check string, vars map[string]string) []engine.Step {
	digest, what := vars["digest"], ""
	if digest != "" {
		what = " into " + digest
	}
	order := shell.Script{Vars: maps.Clone(vars), Text: libScript + check}
	order.Vars["boot"] = t.Facts.BootID
	job := shell.Script{Vars: vars, Text: libScript + rebootScript}
	return []engine.Step{syncDisks(t), orderReboot(t, name, what, order, job), {
		Name: "wait for boot", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// syncDisks comes before the order to reboot, and before the last checks of the
// engine, so that little is left to write after them.
func syncDisks(t engine.Target) engine.Step {
	return shell.Step(t, "sync disks", shell.Strict+hostscript.CheckHoldSnippet(t.Owner())+syncScript, syncTimeout)
}

// orderReboot runs a check on a host that the run holds, and then starts the
// job, which reboots the host, as a transient unit. Messages about the reboot
// end with the text after the name.
func orderReboot(t engine.Target, name, what string, check, job shell.Script) engine.Step {
	check.Vars["unit"], check.Vars["what"] = engine.RebootUnit, what
	held := hostscript.CheckHoldSnippet(t.Owner())
	job.Text = held + job.Text
	check.Job = job.String()
	check.Text += orderScript
	step := shell.Step(t, name, shell.Strict+held+timeOrder+check.String(), orderTimeout)
	step.Reboots = true
	return step
}

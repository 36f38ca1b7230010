package modules

import (
	"maps"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

const (
	// rebootUnit is the transient unit on a host that reboots it.
	rebootUnit = engine.RebootUnit
	// syncTimeout is how long it may take to write to disk all that a host still has
	// in memory.
	syncTimeout = engine.Duration(3 * time.Minute)
	// orderTimeout is how long it may take until a reboot has been ordered: longer
	// than the host itself allows, so that its refusal is heard.
	orderTimeout = engine.Duration(2 * time.Minute)
)

// timeOrder notes when, in the host's uptime, the order to reboot came.
const timeOrder = "read -r asked rest </proc/uptime\n"

// finalizeSteps unlock the staged deployment, reboot into it, and wait for it.
func finalizeSteps(t engine.Target, u osUpdate) []engine.Step {
	vars := map[string]string{"digest": u.digest, "args": u.args.changeDigest()}
	return rebootSteps(t, "finalize", finalizeScript, vars)
}

// rebootPlain reboots into the OS that runs now, for what takes effect at boot.
// One that is staged and not locked would be booted instead, so then it
// refuses. One that is staged and locked is lost; that only costs staging it
// again.
func rebootPlain(t engine.Target) []engine.Step {
	return rebootSteps(t, "reboot", plainRebootScript, map[string]string{"digest": "", "args": ""})
}

// rebootSteps sync the disks of the host, make it reboot if a check finds nothing
// against it, and wait until it has come back from another boot with the OS of
// that digest ("": whichever it is).
func rebootSteps(t engine.Target, name, check string, vars map[string]string) []engine.Step {
	digest, what := vars["digest"], ""
	if digest != "" {
		what = " into " + digest
	}
	order := script{vars: maps.Clone(vars), text: libScript + check}
	order.vars["boot"] = t.Facts.BootID
	job := script{vars: vars, text: libScript + rebootScript}
	return []engine.Step{syncDisks(t), orderReboot(t, name, what, order, job), {
		Name: "wait for boot", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// syncDisks is a step that comes before the order to reboot, and before what the
// engine checks last, so that little is left to write from then on.
func syncDisks(t engine.Target) engine.Step {
	return hostStep(t, "sync disks", strict+hostscript.CheckHoldSnippet(t.Owner())+syncScript, syncTimeout)
}

// orderReboot is a step that runs a check on a host that the run holds, and then
// the job, which reboots it, as the work of a transient unit. What is said for
// people about the reboot follows the word.
func orderReboot(t engine.Target, name, what string, check, job script) engine.Step {
	check.vars["unit"], check.vars["what"] = rebootUnit, what
	held := hostscript.CheckHoldSnippet(t.Owner())
	job.text = held + job.text
	check.job = job.String()
	check.text += orderScript
	step := hostStep(t, name, strict+held+timeOrder+check.String(), orderTimeout)
	step.Reboots = true
	return step
}

package modules

import (
	"maps"
	"time"

	"holdfast/engine"
)

const (
	// rebootUnit is the transient unit on a host that reboots it.
	rebootUnit = engine.RebootUnit
	// rebootOrder is how long it may take until a reboot has been ordered:
	// two minutes of that for writing data to disk.
	rebootOrder = engine.Duration(3 * time.Minute)
)

// finalizeSteps unlock the staged deployment, reboot into it, and wait for it.
func finalizeSteps(t engine.Target, u osUpdate) []engine.Step {
	vars := map[string]string{"digest": u.digest, "args": u.args.digest()}
	return rebootSteps(t, "finalize", finalizeScript, vars)
}

// rebootPlain reboots into the OS that runs now, for what takes effect at boot.
// One that is staged and not locked would be booted instead, so then it
// refuses. One that is staged and locked is lost; that only costs staging it
// again.
func rebootPlain(t engine.Target) []engine.Step {
	return rebootSteps(t, "reboot", plainRebootScript, map[string]string{"digest": "", "args": ""})
}

// rebootSteps are a step that makes the host reboot if a check finds nothing
// against it, and the wait until the host has come back from another boot with
// the OS of that digest ("": whichever it is).
func rebootSteps(t engine.Target, name, check string, vars map[string]string) []engine.Step {
	digest, what := vars["digest"], ""
	if digest != "" {
		what = " into " + digest
	}
	order := script{vars: maps.Clone(vars), text: libScript + check}
	order.vars["boot"] = t.Facts.BootID
	job := script{vars: vars, text: libScript + rebootScript}
	return []engine.Step{orderReboot(t, name, what, order, job), {
		Name: "wait for boot", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

// orderReboot is a step that runs a check on a host that the run holds, and then
// the job, which reboots it, as the work of a transient unit. What is said for
// people about the reboot follows the word.
func orderReboot(t engine.Target, name, what string, check, job script) engine.Step {
	check.vars["unit"], check.vars["what"] = rebootUnit, what
	held := engine.CheckHoldSnippet(t.Owner())
	job.text = held + job.text
	check.job = job.String()
	check.text += orderScript
	step := onHost(t, name, strict+held+check.String(), rebootOrder)
	step.Reboots = true
	return step
}

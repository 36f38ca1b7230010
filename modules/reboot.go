package modules

import (
	"maps"
	"time"

	"holdfast/engine"
)

const (
	// rebootUnit is the transient unit on a host that reboots it.
	rebootUnit = "holdfast-reboot.service"
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
	digest := vars["digest"]
	job := script{vars: vars, text: libScript + rebootScript}
	order := script{vars: maps.Clone(vars), job: job.String(), text: libScript + check + orderScript}
	order.vars["boot"], order.vars["unit"], order.vars["what"] = t.Facts.BootID, rebootUnit, ""
	if digest != "" {
		order.vars["what"] = " into " + digest
	}
	step := onHost(t, name, strict+engine.CheckHoldSnippet(t.Run)+order.String(), rebootOrder)
	step.Breaks = true
	return []engine.Step{step, {
		Name: "wait for boot", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

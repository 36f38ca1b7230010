package modules

import (
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

// rebootSteps are a step that makes the host reboot, and the wait until it has
// come back from another boot, with that OS ("": whichever it is).
func rebootSteps(t engine.Target, order engine.Step, digest string) []engine.Step {
	order.Breaks = true
	return []engine.Step{order, {
		Name: "wait for boot", On: t.Host.Name,
		Do:      engine.Op{AwaitBoot: &engine.AwaitBoot{BootID: t.Facts.BootID, Digest: digest}},
		Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
	}}
}

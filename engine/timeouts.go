package engine

import (
	"cmp"
	"time"
)

// Timeouts limit the steps of a host. Zero means the default.
type Timeouts struct {
	Stage  Duration `json:"stage,omitempty"`  // 30 m, or 2 h for a governed staging
	Reboot Duration `json:"reboot,omitempty"` // 20 m: from the order to reboot until SSH answers from the new boot
	Health Duration `json:"health,omitempty"` // 10 m: from the end of the reboot until units and etcd are healthy
}

// WithDefaults sets the missing timeouts to their defaults.
func (t Timeouts) WithDefaults() Timeouts {
	t.Stage = cmp.Or(t.Stage, stageTimeout)
	t.Reboot = cmp.Or(t.Reboot, rebootTimeout)
	t.Health = cmp.Or(t.Health, healthTimeout)
	return t
}

// StageTimeout returns the timeout of a staging of the target.
func (t Target) StageTimeout() Duration {
	if t.Governed {
		return cmp.Or(t.Pool.Timeouts.Stage, governedTimeout)
	}
	return t.Pool.Timeouts.WithDefaults().Stage
}

// Defaults for timeouts that an inventory does not set.
const (
	stageTimeout    = Duration(30 * time.Minute)
	governedTimeout = Duration(2 * time.Hour) // a governor may slow the staging down
	rebootTimeout   = Duration(20 * time.Minute)
	healthTimeout   = Duration(10 * time.Minute)
	SnapshotTimeout = Duration(10 * time.Minute)

	// SwitchTimeout is the timeout of a switch of the power of a host, without the time for a graceful shutdown.
	SwitchTimeout = Duration(28 * time.Second)

	// CutCheckTimeout is the time for the check of the hold right before the power of a host is cut.
	CutCheckTimeout = Duration(20 * time.Second)
)

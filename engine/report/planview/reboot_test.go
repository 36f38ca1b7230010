package planview

import (
	"testing"
	"time"

	"holdfast/engine"
)

// TestDescribeReboot checks what a plan tells about the kind of a reboot. Hosts that get a full
// reboot and need one have no line, unless their pool allows others.
func TestDescribeReboot(t *testing.T) {
	const soft, kexec, full = engine.SoftReboot, engine.KexecReboot, engine.FullReboot
	for _, c := range []struct {
		reboot *engine.Reboot
		want   string
	}{
		{nil, ""},
		{&engine.Reboot{Kind: full, Least: full, Reason: "r"}, ""},
		{&engine.Reboot{Kind: full, Least: full, Reason: "r", Chosen: true}, "full reboot: r"},
		{&engine.Reboot{Kind: soft, Least: soft, Reason: "r", Chosen: true}, "soft reboot: r"},
		{&engine.Reboot{Kind: full, Least: soft, Reason: "r"}, "full reboot: r; a soft one would be enough"},
		{&engine.Reboot{Kind: full, Least: soft, Reason: "r", Provisional: true}, "full reboot: r; a soft one would be enough if the new OS has the kernel that runs"},
		{&engine.Reboot{Kind: full, Least: soft, Reason: "r", Chosen: true}, "full reboot: r; a soft one would be enough"},
		{&engine.Reboot{Kind: full, Least: full, Reason: "r", Prepared: engine.KexecReboot}, "full reboot; somebody has loaded a kernel for a kexec on it, which kexec --unload undoes"},
		{
			&engine.Reboot{Kind: full, Least: full, Reason: "r", Chosen: true, Prepared: soft, PreparedOS: "0123456789abcdef"},
			"full reboot: r; somebody has prepared a soft reboot into 0123456789ab on it, which ostree admin prepare-soft-reboot --reset 0 undoes",
		},
		{&engine.Reboot{Kind: soft, Least: soft, Reason: "r", Prepared: soft}, "soft reboot: r; somebody has prepared a soft reboot on it, which ostree admin prepare-soft-reboot --reset 0 undoes"},
		{&engine.Reboot{Kind: kexec, Least: kexec, Reason: "r", Chosen: true}, "kexec reboot: r"},
		{&engine.Reboot{Kind: full, Least: kexec, Reason: "r"}, ""},
		{
			&engine.Reboot{Kind: soft, Least: soft, Reason: "r", Chosen: true, Survival: engine.KeepsOldOS, Survivors: []string{"etcd.service", "app.service"}, Restarts: []string{"app.service"}},
			"soft reboot: r; app.service runs on, and restarts once the host is back (about 2 s); etcd.service runs on from the OS before: its restart would cost the cluster its quorum for about 2 s, and needs allow_outage = true",
		},
		{&engine.Reboot{Kind: soft, Least: soft, Reason: "r", Chosen: true, Survivors: []string{"app.service"}}, "soft reboot: r; app.service runs on"},
		{&engine.Reboot{Kind: full, Least: kexec, Reason: "r", Chosen: true}, "full reboot: r"},
		{&engine.Reboot{Kind: full, Least: full, Reason: "r", ResetAfter: engine.Duration(15 * time.Minute)}, "full reboot; reset once through its BMC if it is not back within 15m0s"},
		{&engine.Reboot{Kind: soft, Least: soft, Reason: "r", Chosen: true, ResetAfter: engine.Duration(90 * time.Second)}, "soft reboot: r; reset once through its BMC if it is not back within 90 s"},
	} {
		if got := DescribeReboot(c.reboot); got != c.want {
			t.Errorf("%+v: %q, want %q", c.reboot, got, c.want)
		}
	}
}

package planview

import (
	"cmp"

	"holdfast/engine"
)

// DescribeReboot returns the kind of the reboot of a host with its reason, or that a soft reboot
// would be enough, and the reboot that somebody else has prepared. It returns "" for a host that
// gets a full reboot and needs one, if its pool allows no other, and nobody has prepared one.
func DescribeReboot(r *engine.Reboot) string {
	if r == nil {
		return ""
	}
	line := describeKind(*r)
	if prepared := r.DescribePrepared(); prepared != "" {
		line = cmp.Or(line, string(r.Kind)+" reboot") + "; " + prepared
	}
	return line
}

func describeKind(r engine.Reboot) string {
	switch {
	case r.Kind != engine.FullReboot || r.Chosen && !r.Least.SharesKernel():
		return string(r.Kind) + " reboot: " + r.Reason
	case !r.Least.SharesKernel():
		return ""
	case r.Provisional:
		return string(r.Kind) + " reboot: " + r.Reason + "; a soft one would be enough if the new OS has the kernel that runs"
	}
	return string(r.Kind) + " reboot: " + r.Reason + "; a soft one would be enough"
}

package planview

import "holdfast/engine"

// DescribeReboot returns the kind of the reboot of a host with its reason, or that a soft reboot
// would be enough. It returns "" for a host that gets a full reboot and needs one, if its pool
// allows no other.
func DescribeReboot(r *engine.Reboot) string {
	switch {
	case r == nil:
		return ""
	case r.Kind.SharesKernel() || r.Chosen && !r.Least.SharesKernel():
		return string(r.Kind) + " reboot: " + r.Reason
	case !r.Least.SharesKernel():
		return ""
	case r.Provisional:
		return string(r.Kind) + " reboot: " + r.Reason + "; a soft one would be enough if the new OS has the kernel that runs"
	}
	return string(r.Kind) + " reboot: " + r.Reason + "; a soft one would be enough"
}

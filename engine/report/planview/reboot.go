package planview

import (
	"cmp"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/report/termtext"
)

// DescribeReboot returns the kind of the reboot of a host with its reason, or that a soft reboot
// would be enough, and the reboot that somebody else has prepared. It returns "" for a host that
// gets a full reboot and needs one, if its pool allows no other, nobody has prepared one, and the host is never reset.
func DescribeReboot(r *engine.Reboot) string {
	if r == nil {
		return ""
	}
	line := describeKind(*r)
	if prepared := r.DescribePrepared(); prepared != "" {
		line = cmp.Or(line, string(r.Kind)+" reboot") + "; " + prepared
	}
	if r.ResetAfter > 0 {
		line = cmp.Or(line, string(r.Kind)+" reboot") + "; reset once through its BMC if it is not back within " + termtext.FormatDuration(r.ResetAfter)
	}
	return line
}

func describeKind(r engine.Reboot) string {
	if text := describeSurvival(r); text != "" {
		return string(r.Kind) + " reboot: " + r.Reason + "; " + text
	}
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

// describeSurvival returns the fates of services that run on during the reboot; "" if all stop.
func describeSurvival(r engine.Reboot) string {
	var stay, parts []string
	for _, unit := range r.Survivors {
		if !slices.Contains(r.Restarts, unit) {
			stay = append(stay, unit)
		}
	}
	if len(r.Restarts) > 0 {
		parts = append(parts, strings.Join(r.Restarts, ", ")+" runs on, and restarts once the host is back (about 2 s)")
	}
	switch {
	case len(stay) == 0:
	case r.Survival == engine.KeepsOldOS: // all others restart
		parts = append(parts, strings.Join(stay, ", ")+" runs on from the OS before: its restart would cost the cluster its quorum for about 2 s, and needs allow_outage = true")
	default:
		parts = append(parts, strings.Join(stay, ", ")+" runs on")
	}
	return strings.Join(parts, "; ")
}

package planner

import (
	"slices"
	"strings"

	"holdfast/engine"
)

// describeInhibitors returns why the plan must not reboot the host: a program blocks its
// shutdown, for example while it writes firmware. systemd 257 and later refuse the reboot
// then, which would be after the drain. It returns "" if this is not a reason. A staging may
// block the shutdown itself; the next plan is after it.
func describeInhibitors(f engine.Facts, hp engine.HostPlan) string {
	if len(f.Inhibitors) == 0 || f.IsStaging() || !hp.HasAction(engine.RebootAction) {
		return ""
	}
	if slices.Contains(f.Inhibitors, engine.SilentLogind) {
		return "systemd-logind does not answer, so a program may block its shutdown, and it must not be rebooted; restart it (systemctl restart systemd-logind on the host)"
	}
	return "a program blocks its shutdown (" + strings.Join(f.Inhibitors, "; ") + "), so it must not be rebooted; wait until the program has finished, or end it (systemd-inhibit --list on the host shows it)"
}

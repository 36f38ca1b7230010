package laws

import (
	"strings"

	"holdfast/engine"
)

// SameKernel reports whether two OS versions have the same kernel: all but those whose
// digest begins with "v3".
func SameKernel(a, b string) bool {
	return strings.HasPrefix(a, "v3") == strings.HasPrefix(b, "v3")
}

// checkRebootKind checks that a reboot has the kind that its journaled step has, and that
// a host soft reboots only if its pool allows that, and never into another kernel.
func (r *Run) checkRebootKind(h *Host, digest string, kind engine.RebootKind) {
	if begun := r.begun[h.Name]; begun.reboot != kind && (kind != engine.FullReboot || begun.reboot != "") {
		r.reportViolation("a %s reboot of %s is ordered, and the journal has the kind %q", kind, h.Name, begun.reboot)
	}
	if kind != engine.SoftReboot {
		return
	}
	if r.observer.poolOf(h).Reboot.Soft == engine.NeverSoft {
		r.reportViolation("%s soft reboots, and its pool does not allow that", h.Name)
	}
	if digest != "" && !SameKernel(digest, h.Booted) {
		r.reportViolation("%s soft reboots into %s, which has another kernel", h.Name, digest)
	}
}

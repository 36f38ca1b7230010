package laws

import (
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/event"
)

// This file has the laws about the kinds of reboot.

// SameKernel reports whether two OS versions have the same kernel: all but those whose
// digest begins with "v3".
func SameKernel(a, b string) bool {
	return strings.HasPrefix(a, "v3") == strings.HasPrefix(b, "v3")
}

// RebootOrder is an order of a run to reboot a host.
type RebootOrder struct {
	Digest      string // OS that the host boots; "": the running one
	Kind        engine.RebootKind
	MayFallBack bool // a host that cannot soft reboot reboots in full instead
}

// orderedReboot is a reboot that a run ordered, and what became of it.
type orderedReboot struct {
	by     *Run
	at     time.Time // of the order
	kind   engine.RebootKind
	got    engine.RebootKind // kind of the first boot since the order; "": the host has not booted
	booted time.Time         // time of that boot
	told   bool              // an event has told that the host got a full reboot
}

// checkRebootKind checks that a reboot has the kind of its journaled step, and no greater
// one than in the plan, that the options of the run and the pool of the host allow this
// kind, that the host is capable of it, and that no host soft reboots into another kernel.
func (r *Run) checkRebootKind(h *Host, o RebootOrder) {
	h.reboot = orderedReboot{by: r, at: r.observer.Now, kind: o.Kind}
	if begun := r.begun[h.Name]; begun.reboot != o.Kind && (o.Kind != engine.FullReboot || begun.reboot != "") {
		r.reportViolation("a %s reboot of %s is ordered, and the journal has the kind %q", o.Kind, h.Name, begun.reboot)
	}
	if planned := r.reports.reboots[h.Name]; planned != nil && !planned.Provisional && h.Setting.Failed == "" && o.Kind.Exceeds(planned.Kind) {
		r.reportViolation("a %s reboot of %s is ordered, and the plan has the kind %s", o.Kind, h.Name, planned.Kind)
	}
	if r.asked.Full && o.Kind != engine.FullReboot {
		r.reportViolation("a %s reboot of %s is ordered, and the run has the option --full-reboot", o.Kind, h.Name)
	}
	allowed := r.observer.poolOf(h).Reboot
	switch o.Kind {
	case engine.SoftReboot:
		switch {
		case allowed.Soft == engine.NeverSoft:
			r.reportViolation("%s soft reboots, and its pool does not allow that", h.Name)
		case !h.CanSoft:
			r.reportViolation("%s soft reboots, and cannot do that", h.Name)
		case o.Digest != "" && !SameKernel(o.Digest, h.Booted):
			r.reportViolation("%s soft reboots into %s, which has another kernel", h.Name, o.Digest)
		}
	case engine.KexecReboot:
		switch {
		case allowed.Kexec == engine.NeverKexec:
			r.reportViolation("%s kexecs, and its pool does not allow that", h.Name)
		case !h.CanKexec:
			r.reportViolation("%s kexecs, and cannot do that", h.Name)
		}
	case engine.FullReboot:
	}
	if allowed.Soft == engine.RequireSoft && !r.asked.Full && (o.Kind != engine.SoftReboot || o.MayFallBack) {
		r.reportViolation("%s reboots in full, or may do so, and its pool requires soft reboots", h.Name)
	}
}

// NoteBoot records that the host has booted at that time, in a reboot of that kind.
func (h *Host) NoteBoot(kind engine.RebootKind, at time.Time) {
	if h.reboot.by != nil && h.reboot.got == "" {
		h.reboot.got, h.reboot.booted = kind, at
	}
}

// followReboot checks that a run tells if a host was rebooted in full instead.
func (r *Run) followReboot(e event.Event) {
	tells := e.Type == event.Warned && e.Reboot != nil && e.Reboot.Kind == engine.FullReboot
	if !tells && e.Type != event.HostDone {
		return
	}
	h := r.observer.findHost(e.Host)
	if h == nil || h.reboot.by != r {
		return
	}
	o := &h.reboot
	o.told = o.told || tells
	if !o.told && o.got == engine.FullReboot && o.kind != engine.FullReboot {
		r.reportViolation("%s has rebooted in full, a %s reboot was ordered, and nothing tells", h.Name, o.kind)
	}
}

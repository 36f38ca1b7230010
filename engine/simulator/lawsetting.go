package simulator

import (
	"slices"

	"holdfast/engine"
)

// The laws about the setting.

// lawSetting checks all laws about a script that writes the setting, makes it take effect or
// records it.
func (b *Bastion) lawSetting(h *Host, o settingOrder, quiet bool) {
	switch {
	case quiet && h.heldBut(b.ID):
		b.reportViolation("%s is changed while somebody else holds it", h.Name)
	case !quiet && (h.hold == nil || h.hold.Run != b.ID || h.garbage != ""):
		b.reportViolation("%s is changed without a hold of that run", h.Name)
	}
	switch {
	case o.Before != nil:
		b.lawJournaled(h, "write")
		b.lawWrite(h, wordOf(o.Before.Unfinished.Config), quiet)
	case o.Action != "":
		b.lawJournaled(h, o.Action)
	default:
		b.lawJournaled(h, "record")
	}
}

// lawWrite checks that a change that needs a drain or a reboot is written while the host is held
// and drained, and drift that is only reported stays.
func (b *Bastion) lawWrite(h *Host, word string, quiet bool) {
	pool, _ := b.site.Inventory.Pool(h.host.Pool)
	takes := actionsOf(word)
	drains := slices.ContainsFunc(takes, func(a engine.Action) bool { return a.Type == engine.DrainAction })
	restarts := slices.ContainsFunc(takes, func(a engine.Action) bool { return a.Type == engine.RestartUnit })
	switch a := h.setting.applied; {
	case quiet && (drains || restarts):
		b.reportViolation("%s gets %s without a hold", h.Name, word)
	case drains && pool.Drain != nil && !h.drained:
		b.reportViolation("%s gets %s and is not drained", h.Name, word)
	case pool.Drift == engine.ReportDrift && a != nil && a.Unfinished == nil && wordOf(a.Config) == word:
		b.reportViolation("%s gets %s, and its drift is only to be reported", h.Name, word)
	}
}

// lawRecord checks that a recorded setting is in effect, unless a person has edited it since: the
// next plan finds that edit.
func (b *Bastion) lawRecord(h *Host, word string) {
	edited := h.setting.disk != word && !h.setting.edited.IsZero()
	if h.setting.effect != word && !edited {
		b.reportViolation("%s has %s in effect, and gets %s on record", h.Name, h.setting.effect, word)
	}
}

// lawFallback checks that a reboot replaces the failed action of a change only once.
func (b *Bastion) lawFallback(h *Host) {
	a := h.setting.applied
	if a == nil || a.Unfinished == nil || a.Unfinished.Failed == "" {
		return
	}
	word := wordOf(a.Unfinished.Config)
	if h.setting.fallbacks == nil {
		h.setting.fallbacks = map[string]int{}
	}
	if h.setting.fallbacks[word]++; h.setting.fallbacks[word] > 1 {
		b.reportViolation("%s is rebooted once more because %s did not work", h.Name, a.Unfinished.Failed)
	}
}

package laws

import (
	"slices"

	"holdfast/engine"
)

// SettingOrder is a script about the setting.
type SettingOrder struct {
	Word   string          // word that the script writes; "": none
	Takes  []engine.Action // actions of that word
	Action string          // action that the script runs
	Quiet  bool            // the script runs without a hold

	Login     bool // the word may prevent logins
	Probation bool // the host undoes the write unless a new login works
}

// CheckSetting checks all laws about a script that writes the setting, makes it take effect or
// records it.
func (r *Run) CheckSetting(h *Host, o SettingOrder) {
	switch {
	case o.Quiet && h.isHeldByOther(r.ID):
		r.reportViolation("%s is changed while somebody else holds it", h.Name)
	case !o.Quiet && (h.Hold == nil || h.Hold.Run != r.ID || h.Garbled):
		r.reportViolation("%s is changed without a hold of that run", h.Name)
	}
	switch {
	case o.Word != "":
		r.checkJournaled(h, "write")
		r.checkWrite(h, o)
	case o.Action != "" && !o.Quiet:
		r.checkJournaled(h, o.Action)
	default:
		r.checkJournaled(h, "record")
	}
}

// checkWrite checks that a change which needs a drain or a reboot is written
// only to a held and drained host, and that drift which is only reported stays. Another
// run may have written the same setting since the run planned: that is no drift.
func (r *Run) checkWrite(h *Host, o SettingOrder) {
	r.checkLogin(h, o)
	pool := r.observer.poolOf(h)
	drains := slices.ContainsFunc(o.Takes, func(a engine.Action) bool { return a.Type == engine.DrainAction })
	restarts := slices.ContainsFunc(o.Takes, func(a engine.Action) bool { return a.Type == engine.RestartUnit })
	if drains {
		r.checkPodsLeft(h)
	}
	switch {
	case o.Quiet && (drains || restarts):
		r.reportViolation("%s gets %s without a hold", h.Name, o.Word)
	case drains && pool.Drain != nil && pool.Drain.Kubernetes == nil && !h.Drained:
		r.reportViolation("%s gets %s and is not drained", h.Name, o.Word)
	case pool.Drift == engine.ReportDrift && h.Setting.isRecorded(o.Word) && h.Setting.Disk != o.Word:
		r.reportViolation("%s gets %s, and its drift is only to be reported", h.Name, o.Word)
	}
}

// CheckRecord checks that a recorded setting is in effect, unless a person has
// edited it since. The next plan finds such an edit.
func (r *Run) CheckRecord(h *Host, word string) {
	edited := h.Setting.Disk != word && !h.Setting.Edited.IsZero()
	if h.Setting.Effect != word && !edited {
		r.reportViolation("%s has %s in effect, and gets %s on record", h.Name, h.Setting.Effect, word)
	}
	if h.Stale {
		r.reportViolation("%s gets %s on record, and its etcd member has not restarted since the soft reboot for it", h.Name, word)
	}
	h.ForgetFallbacks()
}

// ForgetFallbacks removes the reboots in place of actions, because the setting
// is now on record.
func (h *Host) ForgetFallbacks() { h.fallbacks = nil }

func (r *Run) checkFallback(h *Host) {
	word := h.Setting.Pending
	if h.Setting.Failed == "" {
		return
	}
	if h.fallbacks == nil {
		h.fallbacks = map[string]int{}
	}
	if h.fallbacks[word]++; h.fallbacks[word] > 1 {
		r.reportViolation("%s is rebooted once more because %s did not work", h.Name, h.Setting.Failed)
	}
}

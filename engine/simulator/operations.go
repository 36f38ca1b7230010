package simulator

import (
	"slices"
	"time"

	"holdfast/engine"
)

// Operations of tests on hosts, without holdfast.

// PowerOff takes the host down at once, for good.
func (h *Host) PowerOff() {
	h.site.withLock(func(now time.Time) {
		if h.up {
			h.goes = time.Time{}
			h.goDown(now)
		}
		h.returns = time.Time{}
	})
}

// PowerOn starts a host that is off. An OS that was not finalized is not booted.
func (h *Host) PowerOn() {
	h.site.withLock(func(now time.Time) {
		if !h.up {
			h.comeUp(now)
		}
	})
}

// Reset cuts the power for a moment: the host boots again, with the OS it had.
func (h *Host) Reset() {
	h.site.withLock(func(now time.Time) {
		if h.up {
			h.staged, h.goes = "", time.Time{}
			h.goDown(now)
			h.returns = now.Add(h.traits.Boot)
		}
	})
}

// Boot reboots the host at once into the OS of that digest, as a person may do.
func (h *Host) Boot(digest string) {
	h.site.withLock(func(now time.Time) {
		h.booted, h.staged, h.next, h.goes = digest, "", "", time.Time{}
		h.comeUp(now)
		h.since = now.Add(-h.traits.Settle)
	})
}

// Cut makes the host unreachable for bastions, and only for them.
func (h *Host) Cut() { h.site.withLock(func(time.Time) { h.cut = true }) }

// Heal ends a Cut.
func (h *Host) Heal() { h.site.withLock(func(time.Time) { h.cut = false }) }

// StopEtcd ends the host's etcd member.
func (h *Host) StopEtcd() {
	h.site.withLock(func(now time.Time) { h.etcd, h.lost = false, now })
}

// StartEtcd brings the host's etcd member back, at once caught up.
func (h *Host) StartEtcd() { h.site.withLock(func(time.Time) { h.etcd = true }) }

// StartUnits starts all enabled units of the host.
func (h *Host) StartUnits() {
	h.site.withLock(func(time.Time) { h.failed, h.units = nil, h.enabledUnits() })
}

// SetHold sets or removes (nil) the hold of the host, as a person may do. That person answers for
// the state of the host.
func (h *Host) SetHold(hold *engine.Hold) {
	h.site.withLock(func(time.Time) {
		h.hold, h.freed = hold, hold == nil
		if hold != nil {
			h.site.addToLog("%s holds %s", hold.Holder, h.Name)
			h.endStaging()
		}
	})
}

// Undrain lets work return to the host, as a person may do.
func (h *Host) Undrain() { h.site.withLock(func(time.Time) { h.drained = false }) }

// Garble makes the host's hold file unreadable.
func (h *Host) Garble() {
	h.site.withLock(func(time.Time) { h.garbage = engine.HoldPath + " is not a hold" })
}

// Hold returns the host's hold, or nil.
func (h *Host) Hold() (hold *engine.Hold) {
	h.site.withLock(func(time.Time) { hold = h.holdCopy() })
	return hold
}

func (h *Host) holdCopy() *engine.Hold {
	if h.hold == nil {
		return nil
	}
	hold := *h.hold
	return &hold
}

// State is the state of a host.
type State struct {
	Up      bool
	Booted  string   // digest
	Staged  string   // digest, "" if nothing is staged
	Locked  bool     // the staged OS is locked
	Staging bool     // an OS is being staged
	Drained bool     // drained, and not undrained since
	Member  bool     // of an etcd cluster
	Well    bool     // up, and its etcd member healthy
	Matches bool     // it has its desired state, with the setting in effect and on record
	Drifted bool     // a person has changed the recorded setting
	Boots   int      // number of boots; a new host has 1
	Reboots []string // digests of the ordered reboots; "-" for the running OS

	Disk, Effect, Record string // the setting; the record is "" where it is not finished
	Failed               string // action that has failed, by the record
	Writes               int    // of the setting
}

// State returns the state of the host.
func (h *Host) State() (st State) {
	want := h.site.desiredOf(h)
	h.site.withLock(func(now time.Time) {
		st = State{
			Up: h.up, Booted: h.booted, Staged: h.staged, Locked: h.locked, Staging: h.staging != "", Drained: h.drained, Member: h.host.Cluster != "",
			Well: h.isWell(now), Boots: h.boot, Reboots: slices.Clone(h.reboots),
			Disk: h.setting.disk, Effect: h.setting.effect, Writes: h.setting.writes,
		}
		if a := h.setting.applied; a != nil && a.Unfinished == nil {
			st.Record = wordOf(a.Config)
		} else if a != nil {
			st.Failed = a.Unfinished.Failed
		}
	})
	st.Matches = want.OS == nil || st.Booted == want.OS.Digest()
	if want.Config != nil {
		word := wordOf(*want.Config)
		st.Matches = st.Matches && st.Disk == word && st.Effect == word && st.Record == word
		st.Drifted = st.Record == word && st.Disk != word
	}
	return st
}

// Set changes the setting of the host: on its disk, in effect and on record.
func (h *Host) Set(word string) {
	h.site.withLock(func(time.Time) {
		h.setting = setting{disk: word, effect: word, applied: &engine.Record{Schema: engine.RecordSchema, Config: Setting(word)}}
		h.units = h.enabledUnits()
		h.law.ForgetFallbacks()
	})
}

// Edit changes the setting on the host's disk, as a person may do.
func (h *Host) Edit(word string) {
	h.site.withLock(func(now time.Time) {
		h.setting.disk, h.setting.edited = word, now
		h.site.addToLog("somebody edits %s: %s", h.Name, word)
	})
}

func (h *Host) isWell(now time.Time) bool {
	return h.up && (h.host.Cluster == "" || h.hasHealthyMember(now))
}

package simulator

import (
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/engine/simulator/laws"
)

// The operations below are for tests. They change hosts without holdfast.

// PowerOff takes the host down at once, for good.
func (h *Host) PowerOff() {
	h.site.withLock(func(now time.Time) {
		if h.up {
			h.staged, h.goes = "", time.Time{}
			h.goDown(now)
		}
		h.off, h.returns, h.downBy, h.runsOn = true, time.Time{}, engine.FullReboot, false
	})
}

// PowerOn starts a host that is off. It boots no OS that was not finalized.
func (h *Host) PowerOn() {
	h.site.withLock(func(now time.Time) {
		if !h.up {
			h.comeUp(now)
		}
	})
}

// Reset cuts the power for a moment: the host boots the same OS again.
func (h *Host) Reset() {
	h.site.withLock(func(now time.Time) {
		if h.up {
			h.staged, h.goes = "", time.Time{}
			h.goDown(now)
			h.returns = now.Add(h.traits.Boot)
		}
	})
}

// resetThroughBMC restarts the host, also one that hangs. It does nothing to a host that is off.
func (h *Host) resetThroughBMC() {
	h.site.withLock(func(now time.Time) {
		if h.off {
			return
		}
		if h.up {
			h.staged, h.goes = "", time.Time{}
			h.goDown(now)
		}
		h.traits.Hangs, h.downBy, h.runsOn = false, engine.FullReboot, false
		if !h.traits.NoReturn {
			h.returns = now.Add(h.traits.Boot)
		}
	})
}

// Boot reboots the host at once into the OS with that digest, as a person can
// do.
func (h *Host) Boot(digest string) {
	h.site.withLock(func(now time.Time) {
		h.booted, h.staged, h.next, h.goes = digest, "", "", time.Time{}
		h.downBy, h.runsOn = engine.FullReboot, false
		h.comeUp(now)
		h.since = now.Add(-h.traits.Settle)
	})
}

// SoftReboot soft reboots a host that can do this into its previous OS, or into the running one if it has no other with its
// kernel, as a person can do. A member that survives soft reboots runs on.
func (h *Host) SoftReboot() {
	h.site.withLock(func(now time.Time) {
		if !h.up || !h.goes.IsZero() || h.next != "" || !h.traits.canSoftReboot() {
			return
		}
		h.site.addToLog("somebody soft reboots %s", h.Name)
		h.goes, h.goesBy = now, engine.SoftReboot
		h.goDown(now)
		if h.previous != "" && laws.SameKernel(h.previous, h.booted) {
			h.booted, h.previous, h.bootedAt = h.previous, h.booted, now
		}
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

// StartEtcd starts the host's etcd member again. The member has caught up at
// once.
func (h *Host) StartEtcd() {
	h.site.withLock(func(time.Time) {
		h.etcd = true
		h.noteMemberStart()
	})
}

// StartUnits starts all enabled units of the host.
func (h *Host) StartUnits() {
	h.site.withLock(func(time.Time) { h.failed, h.units = nil, h.enabledUnits() })
}

// SetHold sets the hold of the host, or removes it (nil), as a person can do.
// This person is responsible for the state of the host.
func (h *Host) SetHold(hold *engine.Hold) {
	h.site.withLock(func(time.Time) {
		if h.hold != nil && h.hold.Kind == engine.RunHold && h.hold.FailedUnits != nil {
			h.ended = h.hold
		}
		h.hold, h.freed = hold, hold == nil
		if hold != nil {
			hold.Schema = engine.HoldSchema
			h.site.addToLog("%s holds %s", hold.Holder, h.Name)
			h.endStaging()
		}
	})
}

// Undrain lets work return to the host, as a person can do.
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
	Up          bool
	Booted      string   // digest of the booted OS
	Staged      string   // digest of the staged OS; "": nothing is staged
	Locked      bool     // the staged OS is locked
	Staging     bool     // an OS is being staged
	Drained     bool     // the host was drained, and not undrained since
	Member      bool     // the host is a member of an etcd cluster
	Well        bool     // the host is up, and its etcd member is healthy
	Matches     bool     // the host has its desired state, with the setting in effect and on record
	Drifted     bool     // a person has changed the recorded setting
	Boots       int      // number of boots of the kernel; a new host has 1
	SoftReboots int      // number of soft reboots since the last of them
	Kexecs      int      // number of boots by a kexec
	Reboots     []string // digests in the orders to reboot; "-" for the running OS

	Disk, Effect, Record string // the setting; Record is "" while a write is not finished
	Failed               string // failed action, by the record
	Writes               int    // number of writes of the setting
}

// State returns the state of the host.
func (h *Host) State() (st State) {
	want := h.site.desiredOf(h)
	h.site.withLock(func(now time.Time) {
		st = State{
			Up: h.up, Booted: h.booted, Staged: h.staged, Locked: h.locked, Staging: h.staging != "", Drained: h.drained, Member: h.host.Cluster != "",
			Well: h.isWell(now), Boots: h.boot, SoftReboots: h.soft, Kexecs: h.kexecs, Reboots: slices.Clone(h.reboots),
			Disk: h.setting.disk, Effect: h.setting.effect, Writes: h.setting.writes,
		}
		if a := h.setting.applied; a != nil && a.Unfinished == nil {
			st.Record = wordOf(a.Config)
		} else if a != nil {
			st.Failed = a.Unfinished.FailedAction
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
		h.setting = setting{disk: word, effect: word, applied: &resource.Record{Schema: resource.RecordSchema, Config: settingConfig(word)}}
		h.units = h.enabledUnits()
		h.law.ForgetFallbacks()
	})
}

// Edit changes the setting on the host's disk, as a person can do.
func (h *Host) Edit(word string) {
	h.site.withLock(func(now time.Time) {
		h.setting.disk, h.setting.edited = word, now
		h.site.addToLog("somebody edits %s: %s", h.Name, word)
	})
}

func (h *Host) isWell(now time.Time) bool {
	return h.up && (h.host.Cluster == "" || h.hasHealthyMember(now))
}

package simulator

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
)

// memory has the entries of a host about roll-outs, which every OS of the host
// keeps.
type memory struct {
	rollout  *engine.Rollout
	updated  time.Time
	rejected []string
}

// Remembered has the entries of a host about roll-outs, as its facts have them.
type Remembered struct {
	Rollout  *engine.Rollout // roll-out that last began on the host
	Updated  time.Time       // by the host's clock
	Rejected []string        // digests of the rejected OS versions
}

// Remembers returns the entries of the host about roll-outs.
func (h *Host) Remembers() (r Remembered) {
	h.site.withLock(func(time.Time) { r = h.memory.rememberedFacts() })
	return r
}

// Remember replaces the entries of the host, as a run does.
func (h *Host) Remember(r Remembered) {
	h.site.withLock(func(time.Time) {
		h.memory.rollout, h.memory.updated, h.memory.rejected = r.Rollout, r.Updated, r.Rejected
		copied := h.memory.rememberedFacts()
		h.memory.rollout, h.memory.rejected = copied.Rollout, copied.Rejected
	})
}

func (m memory) rememberedFacts() Remembered {
	r := Remembered{Updated: m.updated, Rejected: slices.Clone(m.rejected)}
	if m.rollout != nil {
		r.Rollout = &engine.Rollout{Run: m.rollout.Run, Number: m.rollout.Number, Targets: maps.Clone(m.rollout.Targets), Supersedes: slices.Clone(m.rollout.Supersedes)}
	}
	return r
}

func parseRollout(members string) *engine.Rollout {
	var note engine.Rollout
	if json.Unmarshal([]byte("{"+members+"}"), &note) != nil || len(note.Targets) == 0 {
		return nil
	}
	return &note
}

// acceptOS no longer rejects an OS, because the host is healthy with it. The OS
// may fail once more.
func (m *memory) acceptOS(digest string) {
	m.rejected = slices.DeleteFunc(m.rejected, func(d string) bool { return d == digest })
}

func rollbackSteps(t engine.Target, digest string) []engine.Step {
	if booted := t.Facts.Booted(); booted != nil {
		return backSteps(t, digest, booted.Digest)
	}
	return nil
}

// RollbackSteps returns the rollback steps for a host of a dead run.
func (osModule) RollbackSteps(t engine.Target) []engine.Step {
	booted, os, hold := t.Facts.Booted(), t.Desired.OS, t.Facts.Hold
	if booted == nil || os == nil || booted.Digest != os.Digest() || hold == nil || hold.PreviousOS == "" {
		return nil
	}
	return backSteps(t, booted.Digest, hold.PreviousOS)
}

func backSteps(t engine.Target, digest, old string) []engine.Step {
	if t.Pool.OnFailure != engine.RollbackFailed || old == digest || slices.Contains(t.Facts.Rejected, digest) {
		return nil
	}
	order := strings.Join([]string{"simulator rollback", digest, old, t.Run}, " ")
	return []engine.Step{
		syncDisks(t),
		{Name: rollBack, On: t.Host.Name, Do: engine.Op{Exec: &engine.Exec{Script: engine.NewScript(order)}}, Timeout: 60e9, Reboots: true},
		{
			Name: "wait for the previous OS", On: t.Host.Name,
			Do: engine.Op{AwaitBoot: &engine.AwaitBoot{Digest: old}}, Timeout: t.Pool.Timeouts.WithDefaults().Reboot,
		},
	}
}

// rollBack is the name of the step that orders a host to boot its previous OS.
const rollBack = "roll back"

func (h *Host) orderRollback(o rebootOrder, bad, good string) rollout.Reply {
	changed := func(why string) rollout.Reply {
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "rollback: " + why + "; nothing was done\n"}
	}
	switch {
	case !h.isHeld() || h.heldBut(o.run):
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
	case !h.goes.IsZero():
		return changed("the host goes down")
	case h.booted == good:
		return changed("the host runs " + good + " already, and not " + bad)
	case h.booted != bad:
		return changed("the host runs " + h.booted + ", which is not " + bad)
	case h.previous != good:
		return rollout.Reply{Code: hostscript.ScriptCannot, Stderr: "rollback: the host has not got " + good + " any more; nothing was done\n"}
	case h.keepsOldProcess() && h.memberOS != h.previous: // a rollback keeps the deployments that are listed
		return oldProcess
	}
	if !slices.Contains(h.memory.rejected, bad) {
		h.memory.rejected = append(h.memory.rejected, bad)
	}
	switch {
	case h.traits.Stubborn && h.traits.HalfDone:
		return rollout.Reply{Code: hostscript.ScriptHalfDone, Stderr: "Failed to start transient service unit\nrollback: the host does not reboot, and would boot " + good + " next, not the running " + bad + "\n"}
	case h.traits.Stubborn:
		return rollout.Reply{Code: 1, Stderr: "Failed to start transient service unit\n"}
	}
	o.bastion.law().CheckRollback(&h.law, bad)
	h.site.addToLog("%s rolls %s back into %s", o.bastion.ID, h.Name, good)
	h.reboots = append(h.reboots, good)
	h.staged, h.locked, h.staging, h.next = "", false, "", good
	h.goes, h.plain, h.goesBy = o.now.Add(h.traits.Shutdown), true, engine.FullReboot
	return rollout.Reply{}
}

func (h *Host) bootsNext() {
	if h.next != "" {
		h.previous, h.booted, h.next = h.booted, h.next, ""
		h.bootedAt = h.since
		h.site.observe().CheckBooted(&h.law)
	}
}

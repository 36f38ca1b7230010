package simulator

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/rollout"
)

// scriptVariables returns the variables of a script, which an empty line ends. A simulated
// host uses their values, so that a test detects a wrong hold or setting.
func scriptVariables(script string) map[string]string {
	vars := map[string]string{}
	for script != "" {
		var line string
		line, script, _ = strings.Cut(script, "\n")
		if line == "" {
			break
		}
		for strings.Count(line, "'")%2 != 0 && script != "" { // a quoted value continues on the next line
			var more string
			more, script, _ = strings.Cut(script, "\n")
			line += "\n" + more
		}
		if name, value, ok := strings.Cut(line, "="); ok {
			vars[name] = unquote(value)
		}
	}
	return vars
}

func unquote(word string) string {
	var b strings.Builder
	for word != "" {
		plain, rest, _ := strings.Cut(word, "'")
		b.WriteString(strings.ReplaceAll(plain, `\`, ""))
		if strings.HasSuffix(plain, `\`) {
			b.WriteByte('\'')
			word = rest
			continue
		}
		inner, after, _ := strings.Cut(rest, "'")
		b.WriteString(inner)
		word = after
	}
	return b.String()
}

func parseHoldFields(lines string) engine.Hold {
	var h engine.Hold
	_ = json.Unmarshal([]byte("{"+strings.TrimRight(strings.TrimSpace(lines), ",")+"}"), &h) // invalid JSON names no run
	return h
}

// isOfPerson reports whether a script takes the hold of a person. No law binds a person.
func isOfPerson(s rollout.Script) bool {
	return s.Purpose == rollout.Purpose(hold.TakeScript) && parseHoldFields(scriptVariables(s.Text)["head"]).Kind == engine.MaintenanceHold
}

func (h *Host) isHolder(owner engine.HoldOwner) bool {
	return h.hold != nil && h.garbage == "" && h.hold.Owner() == owner && owner.Run != ""
}

func (h *Host) clockTime(now time.Time) time.Time {
	return now.Add(h.traits.Skew).UTC().Truncate(time.Second)
}

// runHoldScript returns known as false for a script that is not about a hold.
func (h *Host) runHoldScript(b *Bastion, s hold.Script, now time.Time) (reply rollout.Reply, known bool) {
	switch s.Purpose {
	case hold.ReadScript:
		reply := rollout.Reply{Code: hostscript.NoHold}
		if h.isHeld() {
			reply = h.printHold(0)
		}
		reply.Stdout = fmt.Sprintf("clock %d\n%s", h.clockTime(now).Unix(), reply.Stdout)
		return reply, true
	case hold.CheckScript:
		return h.checkHold(b.holdOwner(), s.Text), true
	case hold.TakeScript:
		return h.takeHold(b, s.Text, now), true
	case hold.FailScript:
		return h.failHold(s.Text, now), true
	case hold.ReleaseScript:
		return h.releaseHold(b, s.Text, now), true
	case hold.EndScript:
		return h.endHold(s.Text), true
	case hold.AcceptScript:
		return h.acceptUnits(), true
	}
	return rollout.Reply{}, false
}

func (h *Host) takeHold(b *Bastion, script string, now time.Time) rollout.Reply {
	vars := scriptVariables(script)
	owner := parseHoldFields(vars["own"]).Owner()
	mine := h.isHolder(owner)
	adopted := h.hold != nil && h.garbage == "" && h.hold.Kind == engine.RunHold && h.hold.Run == parseHoldFields(vars["adopt"]).Run && h.hold.Run != ""
	if seen := parseHoldFields(vars["seen"]).Renewed; !seen.IsZero() && adopted {
		adopted = h.hold.Renewed.Equal(seen)
	}
	if h.isHeld() && !mine && !adopted {
		return h.refuseHeld()
	}
	lasts, head := parseSeconds(vars["lasts"]), parseHoldFields(vars["head"])
	if shown := vars["shown"]; (lasts < 0 || shown != "") && !mine {
		return rollout.Reply{Code: hostscript.ScriptHeld}
	} else if shown != "" && shown != resource.Digest([]byte(h.printHold(0).Stdout)) && !h.hasHead(head) {
		return h.refuseHeld()
	}
	if adopted && !mine {
		b.law().CheckAdopt(&h.law)
	}
	if head.Kind == engine.RunHold {
		b.law().Take(&h.law)
	}
	if note := parseRollout(vars["note"]); note != nil {
		b.law().CheckUnfinished(&h.law, note.Targets)
		h.memory.rollout = note
	}
	times := holdTimes{now: h.clockTime(now), later: h.laterTime(now, vars["sent"])}
	if vars["shown"] != "" && lasts > 0 {
		lasts = max(lasts, h.hold.Expires.Sub(times.later))
	}
	return h.writeHold(owner.Run, head, lasts, times)
}

// hasHead reports whether the hold differs from the head of a new one only in its times.
func (h *Host) hasHead(head engine.Hold) bool {
	now := *h.hold
	now.Acquired, now.Renewed, now.Expires = head.Acquired, head.Renewed, head.Expires
	return reflect.DeepEqual(now, head)
}

func (h *Host) failHold(script string, now time.Time) rollout.Reply {
	vars := scriptVariables(script)
	owner := parseHoldFields(vars["own"]).Owner()
	if !h.isHolder(owner) {
		return h.refuseHeld()
	}
	failed := parseHoldFields(vars["failed"])
	h.hold.Renewed, h.hold.Reason, h.hold.Step, h.hold.Expires = h.clockTime(now), failed.Reason, failed.Step, time.Time{}
	h.site.addToLog("%s keeps %s held: %s", owner.Run, h.Name, h.hold.Reason)
	return h.printHold(0)
}

func (h *Host) releaseHold(b *Bastion, script string, now time.Time) rollout.Reply {
	vars := scriptVariables(script)
	owner := parseHoldFields(vars["own"]).Owner()
	switch {
	case !h.isHeld():
		return rollout.Reply{}
	case !h.isHolder(owner):
		return h.refuseHeld()
	}
	b.law().CheckRelease(&h.law)
	b.law().CheckWhole(&h.law, vars["whole"] != "")
	if vars["whole"] != "" {
		h.ended = nil
	}
	if vars["updated"] != "" {
		h.memory.updated = h.laterTime(now, vars["sent"])
	}
	if boot := vars["boot"]; vars["accepts"] != "" && (boot == "" || resource.BootID(boot) == h.bootID()) {
		b.law().CheckAccepts(&h.law, vars["accepts"])
		h.memory.acceptOS(vars["accepts"])
	}
	h.hold = nil
	h.site.addToLog("%s releases %s", owner.Run, h.Name)
	return rollout.Reply{}
}

// endHold ends the hold of anybody for a person, who is then responsible for the state of the host.
func (h *Host) endHold(script string) rollout.Reply {
	vars := scriptVariables(script)
	switch {
	case !h.isHeld():
		return rollout.Reply{}
	case vars["shown"] != resource.Digest([]byte(h.printHold(0).Stdout)):
		return h.refuseHeld()
	}
	if vars["whole"] != "" {
		h.ended = nil
	} else if h.hold != nil && h.hold.Kind == engine.RunHold && h.hold.FailedUnits != nil {
		h.ended = h.hold
	}
	h.hold, h.garbage, h.freed = nil, "", true
	h.site.addToLog("somebody ends the hold of %s", h.Name)
	return rollout.Reply{}
}

func (h *Host) acceptUnits() rollout.Reply {
	if h.isHeld() {
		return h.refuseHeld()
	}
	h.ended = nil
	h.site.addToLog("somebody accepts the units of %s", h.Name)
	return rollout.Reply{}
}

// ForgeDrain lets somebody on the host write a drain into its hold.
func (h *Host) ForgeDrain(d engine.HoldDrain) {
	h.site.withLock(func(time.Time) { h.hold.Drain = &d })
}

func (h *Host) isHeld() bool { return h.hold != nil || h.garbage != "" }

// holdTimes are the time of a host, and the later one of this time and the time of the bastion.
type holdTimes struct{ now, later time.Time }

func (h *Host) laterTime(now time.Time, sent string) time.Time {
	return slices.MaxFunc([]time.Time{h.clockTime(now), time.Unix(0, 0).Add(parseSeconds(sent)).UTC()}, time.Time.Compare)
}

func (h *Host) writeHold(run string, hold engine.Hold, lasts time.Duration, at holdTimes) rollout.Reply {
	hold.Acquired, hold.Renewed = at.now, at.now
	if h.hold != nil && h.hold.Run == run {
		hold.Acquired = h.hold.Acquired
	}
	if lasts > 0 {
		hold.Expires = at.later.Add(lasts)
	}
	if lasts < 0 {
		hold.Expires = h.hold.Expires
	}
	if h.hold == nil {
		h.ran = slices.Clone(h.units)
	}
	h.site.addToLog("%s holds %s", run, h.Name)
	if h.hold == nil || h.hold.Run != run {
		h.endStaging()
	}
	h.hold = &hold
	return h.printHold(0)
}

func (h *Host) endStaging() {
	if h.staging != "" && !h.traits.StagesOn {
		h.site.addToLog("the staging of %s ends", h.Name)
		h.staging = ""
	}
}

func parseSeconds(s string) time.Duration {
	d, _ := time.ParseDuration(s + "s") // "" is zero
	return d
}

func (h *Host) refuseHeld() rollout.Reply {
	reply := h.printHold(hostscript.ScriptHeld)
	reply.Stderr = "hold: the host is held by someone else\n"
	if !h.isHeld() {
		reply.Stderr = "hold: the host is not held\n"
	}
	return reply
}

func (h *Host) printHold(code int) rollout.Reply {
	if h.garbage != "" || h.hold == nil {
		return rollout.Reply{Stdout: h.garbage, Code: code}
	}
	text, _ := json.Marshal(h.hold) // a hold always marshals
	return rollout.Reply{Stdout: string(text), Code: code}
}

// checkHold refuses a script about another owner. People work under the holds of people, also from other bastions.
func (h *Host) checkHold(owner engine.HoldOwner, script string) rollout.Reply {
	if h.hold != nil && h.hold.Kind == engine.MaintenanceHold {
		owner = h.hold.Owner()
	}
	if h.isHeld() && !h.heldBut(owner.Run) && script == hostscript.CheckHoldScript(owner) {
		return rollout.Reply{}
	}
	reply := h.printHold(hostscript.ScriptHeld)
	reply.Stderr = "hold: the host is not held by this run; nothing was done\n"
	return reply
}

func (h *Host) heldBut(runs ...string) bool {
	if h.garbage != "" {
		return true
	}
	if h.hold == nil {
		return false
	}
	for _, r := range runs {
		if h.hold.Run == r && r != "" {
			return false
		}
	}
	return true
}

package simulator

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/engine/hostscript"
	"holdfast/engine/rollout"
)

func scriptVerb(text string) string {
	if strings.HasPrefix(text, probeStart) {
		return "probe"
	}
	if order, ok := strings.CutPrefix(text, "simulator "); ok {
		word, _, _ := strings.Cut(order, " ")
		return word
	}
	if text == hostscript.HoldProbeScript() {
		return "look"
	}
	if strings.HasPrefix(text, checkStart) {
		return "check hold"
	}
	vars := holdVariables(text)
	_, takes := vars["head"]
	failed, renews := vars["failed"]
	_, hold := vars["own"]
	switch {
	case takes:
		return "hold"
	case failed != "":
		return "fail hold"
	case renews:
		return "renew hold"
	case hold:
		return "release"
	}
	return "other"
}

func (h *Host) runScript(b *Bastion, text string, now time.Time) rollout.Reply {
	if commands, ok := strings.CutPrefix(text, probeStart); ok {
		b.law().See(&h.law)
		return h.answerProbe(commands, now)
	}
	if text == hostscript.HoldProbeScript() {
		if !h.isHeld() {
			return rollout.Reply{Code: hostscript.NoHold}
		}
		return h.printHold(0)
	}
	if text == hostscript.CheckHoldScript(b.holdOwner()) {
		return h.checkHold(b.ID)
	}
	if reply, ok := h.holdScript(b, text, now); ok {
		return reply
	}
	args := strings.Fields(text)
	switch {
	case len(args) > 2 && args[0] == "simulator" && args[1] == "stage":
		return h.startStaging(b, args[2], args[3:], now)
	case len(args) == 2 && args[0] == "simulator" && args[1] == "abort":
		h.staging = ""
		return rollout.Reply{}
	case len(args) == 3 && args[0] == "simulator" && args[1] == "sync":
		if !h.isHeld() || h.heldBut(args[2]) {
			return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
		}
		return rollout.Reply{}
	case len(args) == 5 && args[0] == "simulator" && args[1] == "reboot":
		return h.orderReboot(b, args[2], args[3], args[4], now)
	case len(args) == 5 && args[0] == "simulator" && args[1] == "rollback":
		return h.orderRollback(b, args[2], args[3], args[4], now)
	case len(args) > 2 && args[0] == "simulator":
		return h.settingScript(b, args[1], text, now)
	case strings.HasPrefix(text, "timeout 10 journalctl "):
		return rollout.Reply{Stdout: "its last words\n"}
	case text == "systemctl is-system-running" && !h.goes.IsZero():
		return rollout.Reply{Stdout: "stopping\n", Code: 1}
	case text == "systemctl is-system-running":
		return rollout.Reply{Stdout: "running\n"}
	}
	return rollout.Reply{Stderr: "sh: not found\n", Code: 127}
}

// probeStart is how a script of engine.ProbeScript begins.
const probeStart = "export LC_ALL=C\n( "

// checkStart is how a script of engine.CheckHoldScript begins.
const checkStart = "set -eu\nexport LC_ALL=C\ncheckhold() {\n"

func (h *Host) answerProbe(commands string, now time.Time) rollout.Reply {
	var reply rollout.Reply
	for _, c := range strings.Split("\n"+commands, "\n( ") {
		command, closing, _ := strings.Cut(strings.TrimPrefix(c, "\n"), "\n")
		_, mark, _ := strings.Cut(closing, `printf '\n`)
		mark, _, _ = strings.Cut(mark, " %d") // the random mark and a number
		out, code := []byte(nil), 127
		if command == factsScript {
			out, _ = json.Marshal(h.hostFacts(now)) // facts always marshal
			code = 0
		}
		reply.Stdout += fmt.Sprintf("%s\n%s %d\n", out, mark, code)
		reply.Stderr += "\n" + mark + "\n"
	}
	return reply
}

func (h *Host) startStaging(b *Bastion, digest string, holders []string, now time.Time) rollout.Reply {
	switch {
	case h.heldBut(holders...):
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is held by someone else; nothing was done\n"}
	case h.traits.DiskFull:
		return rollout.Reply{Code: hostscript.ScriptNoSpace, Stderr: "stage: the deployment is not staged; the end of the log:\nerror: 12 MiB are free, 1024 MiB are needed\n"}
	case !h.goes.IsZero():
		return rollout.Reply{Code: 1, Stderr: "the system is going down\n"}
	case h.staged == digest:
		h.locked = true
		return rollout.Reply{}
	}
	b.law().CheckStage(&h.law)
	h.stager = b
	if h.staging != digest {
		h.staging, h.stagedBy = digest, now.Add(h.traits.Stage)
		h.site.addToLog("%s stages %s", b.ID, h.Name)
	}
	return rollout.Reply{}
}

func (h *Host) orderReboot(b *Bastion, digest, boot, run string, now time.Time) rollout.Reply {
	switch {
	case !h.isHeld() || h.heldBut(run):
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
	case h.bootID() != boot || !h.goes.IsZero():
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "finalize: the host has rebooted since it was planned\n"}
	case digest == plain && h.staged != "" && !h.locked:
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "reboot: what is staged would be booted\n"}
	case digest != plain && (h.staged != digest || !h.locked):
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "finalize: nothing is staged\n"}
	case h.traits.Stubborn:
		return rollout.Reply{Code: 1, Stderr: "Failed to start transient service unit\n"}
	}
	into := digest
	if digest == plain {
		into = ""
	}
	b.law().CheckReboot(&h.law, into)
	h.site.addToLog("%s reboots %s into %s", b.ID, h.Name, digest)
	h.reboots = append(h.reboots, digest)
	h.goes, h.plain = now.Add(h.traits.Shutdown), digest == plain
	if h.plain {
		h.staged = ""
	}
	h.locked = false
	return rollout.Reply{}
}

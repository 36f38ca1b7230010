package simulator

import (
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hold"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/rollout"
	"holdfast/engine/simulator/laws"
)

// VerbOf returns the verb of the call of a script: its purpose, or the
// operation of its step. An order of the modules in this package begins with a
// verb of its own.
func VerbOf(s rollout.Script) string {
	switch {
	case s.Purpose != rollout.StepScript:
		return string(s.Purpose)
	case s.Op.ProveLogin != nil:
		return "prove"
	case s.Op.RestartSurvivors != nil:
		return "restart survivors"
	case s.Op.ShutDown != nil:
		return "shut down"
	case s.Op.Exec != nil:
		verb, _ := parseOrder(s.Text)
		return verb
	}
	return "other"
}

func parseOrder(text string) (verb, rest string) {
	order, ok := strings.CutPrefix(text, orderStart)
	if !ok {
		return "other", ""
	}
	verb, rest, _ = strings.Cut(order, " ")
	return verb, rest
}

// orderStart begins each order of the modules.
const orderStart = "simulator "

func (h *Host) runScript(b *Bastion, s rollout.Script, now time.Time) rollout.Reply {
	if reply, known := h.runHoldScript(b, hold.Script{Purpose: hold.Purpose(s.Purpose), Text: s.Text}, now); known {
		return reply
	}
	switch s.Purpose {
	case rollout.StepScript: // the operation decides, see below
	case rollout.ProbeScript:
		b.lawNotes().See(&h.law)
		return h.answerProbe(s, now)
	case rollout.UndoScript:
		return h.undoScript(s.Text)
	case rollout.AbortScript:
		h.staging = ""
		return rollout.Reply{}
	case rollout.PaceScript:
		return rollout.Reply{Stdout: h.takePace(s.Text)}
	case rollout.LogScript:
		return rollout.Reply{Stdout: "its last words\n"}
	case rollout.StateScript:
		if !h.goes.IsZero() {
			return rollout.Reply{Stdout: "stopping\n", Code: 1}
		}
		return rollout.Reply{Stdout: "running\n"}
	}
	switch {
	case s.Op.ProveLogin != nil:
		return h.confirmProbation(s.Text)
	case s.Op.RestartSurvivors != nil:
		return h.restartSurvivors(b, s.Op.RestartSurvivors.Always, now)
	case s.Op.ShutDown != nil:
		return h.shutDown(now)
	case s.Op.Exec != nil:
		return h.obeyOrder(b, s.Text, now)
	}
	return notFound
}

func (h *Host) restartSurvivors(b *Bastion, always bool, now time.Time) rollout.Reply {
	if !h.isHeld() || h.heldBut(b.ID) {
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
	}
	if h.memberOS == h.booted && !always {
		return rollout.Reply{}
	}
	b.law().CheckHarm(&h.law)
	h.site.addToLog("%s restarts the member on %s into %s", b.ID, h.Name, h.booted)
	h.restartMember(now)
	return rollout.Reply{}
}

// shutDown switches off a host that a person holds.
func (h *Host) shutDown(now time.Time) rollout.Reply {
	if h.hold == nil || h.hold.Kind != engine.MaintenanceHold {
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held\n"}
	}
	if h.traits.Stubborn {
		return rollout.Reply{Code: 1, Stderr: "Failed to start transient service unit: Connection timed out\n"}
	}
	h.staged, h.goes = "", time.Time{}
	h.goDown(now)
	h.returns, h.downBy, h.runsOn = time.Time{}, engine.FullReboot, false
	return rollout.Reply{}
}

var notFound = rollout.Reply{Stderr: "sh: not found\n", Code: 127}

func (h *Host) obeyOrder(b *Bastion, text string, now time.Time) rollout.Reply {
	verb, rest := parseOrder(text)
	args := strings.Fields(rest)
	switch {
	case verb == "stage" && len(args) > 0:
		return h.startStaging(b, args[0], args[1:], now)
	case verb == "abort":
		h.staging = ""
		return rollout.Reply{}
	case verb == "sync" && len(args) == 1:
		if !h.isHeld() || h.heldBut(args[0]) {
			return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
		}
		return rollout.Reply{}
	case verb == "reboot" && len(args) == 5:
		return h.orderReboot(rebootOrder{b, args[2], engine.RebootKind(args[3]), args[4] == "yes", now}, args[0], args[1])
	case verb == "rollback" && len(args) == 3:
		return h.orderRollback(rebootOrder{b, args[2], engine.FullReboot, false, now}, args[0], args[1])
	case len(args) > 0:
		return h.settingScript(b, verb, rest, now)
	}
	return notFound
}

// answerProbe refuses a script that does not run the commands of its probe.
func (h *Host) answerProbe(s rollout.Script, now time.Time) rollout.Reply {
	p := s.Probe
	if s.Text != hostscript.ProbeScript(p.Commands, p.Mark) {
		return notFound
	}
	var reply rollout.Reply
	for i, c := range p.Commands {
		out, code := []byte(nil), 127
		if c.Script == factsScript {
			out, code = encodeFacts(h.hostFacts(now)), 0
		}
		reply.Stdout += fmt.Sprintf("%s\n%s %d %d\n", out, p.Mark, i, code)
		reply.Stderr += fmt.Sprintf("\n%s %d\n", p.Mark, i)
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
	case h.keepsOldProcess():
		return oldProcess
	}
	b.law().CheckStage(&h.law)
	h.stager = b
	if h.staging != digest {
		h.staging, h.stagedBy = digest, now.Add(h.traits.Stage)
		h.site.addToLog("%s stages %s", b.ID, h.Name)
	}
	return rollout.Reply{}
}

// keepsOldProcess reports whether the host sees that its member, which has survived a soft reboot, runs from another OS.
func (h *Host) keepsOldProcess() bool {
	return h.traits.Survives && !h.traits.Lax && h.etcd && h.memberOS != h.booted
}

// oldProcess is the refusal of a host to remove the OS that its member runs from.
var oldProcess = rollout.Reply{Code: hostscript.ScriptOldProcess, Stderr: "etcd.service (process 160) runs from another deployment than the host, which may go now; nothing was done\n"}

// rebootOrder is the run that orders a host to reboot, the kind of reboot, whether the
// host may reboot in full if it cannot soft reboot, and the time of the order.
type rebootOrder struct {
	bastion  *Bastion
	run      string
	kind     engine.RebootKind
	fallback bool
	now      time.Time
}

func (h *Host) orderReboot(o rebootOrder, digest, boot string) rollout.Reply {
	switch {
	case !h.isHeld() || h.heldBut(o.run):
		return rollout.Reply{Code: hostscript.ScriptHeld, Stderr: "hold: the host is not held by this run; nothing was done\n"}
	case h.bootID() != resource.BootID(boot) || !h.goes.IsZero():
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "finalize: the host has rebooted since it was planned\n"}
	case digest == plain && h.staged != "" && !h.locked:
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "reboot: the staged OS would be booted\n"}
	case digest != plain && (h.staged != digest || !h.locked):
		return rollout.Reply{Code: hostscript.ScriptChanged, Stderr: "finalize: nothing is staged\n"}
	case digest != plain && h.keepsOldProcess():
		return oldProcess
	case h.traits.Stubborn:
		return rollout.Reply{Code: 1, Stderr: "Failed to start transient service unit\n"}
	}
	order := laws.RebootOrder{Digest: digest, Kind: o.kind, MayFallBack: o.fallback}
	if digest == plain {
		order.Digest = ""
	}
	h.law.RunsOn = o.kind.SharesKernel() && h.traits.Survives && h.etcd
	o.bastion.law().CheckReboot(&h.law, order)
	h.law.RunsOn = false
	obstacle := h.obstacleTo(o.kind)
	if obstacle != "" && o.kind == engine.SoftReboot && !o.fallback {
		return rollout.Reply{Code: hostscript.ScriptCannot, Stderr: "reboot: the host " + obstacle + "\n"}
	}
	h.site.addToLog("%s reboots %s into %s, %s", o.bastion.ID, h.Name, digest, o.kind)
	h.reboots = append(h.reboots, digest)
	h.goes, h.plain = o.now.Add(h.traits.Shutdown), digest == plain
	if h.goesBy = o.kind; obstacle != "" || o.kind.SharesKernel() && !h.plain && (h.traits.OldOS || !laws.SameKernel(digest, h.booted)) {
		h.goesBy = engine.FullReboot
	}
	switch {
	case h.plain && h.goesBy.SharesKernel(): // what is staged and locked stays so
	case h.plain:
		h.staged, h.locked = "", false
	case h.goesBy.SharesKernel(), o.kind == engine.KexecReboot && !h.traits.OldOS: // the OS is finalized before the order
		h.staged, h.locked, h.next = "", false, digest
	default:
		h.locked = false
	}
	if obstacle != "" {
		return rollout.Reply{Stdout: "it reboots in full instead: it " + obstacle + "\n"}
	}
	return rollout.Reply{}
}

// obstacleTo returns why the host cannot carry out a reboot of that kind; "" if it can.
func (h *Host) obstacleTo(kind engine.RebootKind) string {
	switch {
	case !h.traits.Unprepared:
	case kind == engine.SoftReboot:
		return "cannot soft reboot: error: preparing the root: no space left"
	case kind == engine.KexecReboot:
		return "cannot kexec: kexec has loaded nothing"
	}
	return ""
}

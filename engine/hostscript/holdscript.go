package hostscript

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// The files in which a host keeps its roll-outs. They survive its OS.
const (
	RolloutPath  = engine.StateDir + "/rollout.json"  // a Rollout
	UpdatedPath  = engine.StateDir + "/updated"       // a time (RFC 3339, UTC)
	RejectedPath = engine.StateDir + "/rejected"      // digests, one a line
	UnprovenPath = engine.StateDir + "/unproven.json" // a Hold of a run that a person ended
)

// HoldScript returns the script that takes the host's hold for h.Run, without the
// bastion's clock. The hold expires after lasts (0: never). The script renews a hold
// of h.Run, adopts a hold of the run adopt ("": none), and replaces no other
// hold. It prints the resulting hold as JSON. If somebody else holds the host,
// it prints that hold and exits with ScriptHeld. A power cut leaves either no
// hold or a complete one.
//
// If roll is not nil, the script writes it to RolloutPath.
func HoldScript(h engine.Hold, lasts engine.Duration, adopt string, roll *engine.Rollout) string {
	return TakeHoldScript(h, engine.TakeHold{For: lasts, Adopt: adopt, Rollout: roll}, time.Time{})
}

// TakeHoldScript returns the HoldScript of a step. now is the time of the bastion (zero: unknown). The hold ends t.For after
// the later one of now and the host's clock: a clock that was behind may be set right while the hold stands. With KeepEnd, a
// hold of h.Run keeps its end. If t.Renewed is set, the script adopts only a hold that was last written at that time: a run
// that has renewed its hold in the meantime is alive. If t.Digest is set, the script writes only the hold again whose text has
// this digest, or that it has written before, and exits with ScriptHeld in all other cases.
func TakeHoldScript(h engine.Hold, t engine.TakeHold, now time.Time) string {
	h = truncateHold(h)
	adoptLine := ""
	if t.Adopt != "" {
		adoptLine = jsonField("run", t.Adopt)
	}
	seenLine := ""
	if !t.Renewed.IsZero() {
		seenLine = jsonField("renewed", t.Renewed.UTC().Format(time.RFC3339))
	}
	why, described := "", ""
	if h.Kind == engine.MaintenanceHold {
		why = noticeText(h)
		described = strings.NewReplacer("%", "%%", `\`, "/").Replace(why) // in a unit file, these two are special
	}
	return holdScript(h.Owner(), BootIDScript+refuseRebootsScript+takeHoldScript, [][2]string{
		{"why", why},
		{"described", described},
		{"adopt", adoptLine},
		{"seen", seenLine},
		{"shown", t.Digest},
		{"note", rolloutLines(t.Rollout)},
		{"rollout", RolloutPath},
		{"head", strings.Join(headLines(h), "\n")},
		{"lasts", inSeconds(t.For)},
		{"sent", unixSeconds(now)},
		{"motd", noticeText(h)},
	})
}

// headLines returns the members of a hold in JSON that its script knows before it runs, each on a line.
func headLines(h engine.Hold) []string {
	head := []string{fmt.Sprintf(`"schema":%d,`, engine.HoldSchema)}
	for _, f := range [][2]string{
		{"kind", string(h.Kind)},
		{"holder", h.Holder},
		{"run", h.Run},
		{"bastion", h.Bastion}, // right after the run: scripts search for the two lines together
		{"reason", h.Reason},
		{"ticket", h.Ticket},
		{"step", h.Step},
		{"previous_os", h.PreviousOS},
		{"cluster", h.Cluster},
	} {
		if f[1] != "" || f[0] == "reason" {
			head = append(head, jsonField(f[0], f[1])+",")
		}
	}
	if len(h.Units) > 0 {
		units, _ := json.Marshal(h.Units) // strings always marshal
		head = append(head, `"units":`+string(units)+",")
	}
	if h.UnitsOmitted > 0 {
		head = append(head, fmt.Sprintf(`"units_omitted":%d,`, h.UnitsOmitted))
	}
	if h.FailedUnits != nil {
		failed, _ := json.Marshal(h.FailedUnits)
		head = append(head, `"failed_units":`+string(failed)+",")
	}
	if h.PowerBefore != nil {
		before, _ := json.Marshal(h.PowerBefore) // always marshals
		head = append(head, `"power_before":`+string(before)+",")
	}
	if h.Drain != nil {
		drain, _ := json.Marshal(h.Drain) // always marshals
		head = append(head, `"drain":`+string(drain)+",")
	}
	return head
}

// rolloutLines returns the members of a Rollout in JSON, each on a line.
func rolloutLines(r *engine.Rollout) string {
	if r == nil || len(r.Targets) == 0 {
		return ""
	}
	targets, _ := json.Marshal(r.Targets) // a map of strings always marshals, by key
	lines := []string{fmt.Sprintf(`"schema":%d`, engine.RolloutSchema), jsonField("run", r.Run), `"targets":` + string(targets)}
	if r.Number > 0 {
		lines = append(lines, fmt.Sprintf(`"number":%d`, r.Number))
	}
	if len(r.Supersedes) > 0 {
		runs, _ := json.Marshal(r.Supersedes) // strings always marshal
		lines = append(lines, `"supersedes":`+string(runs))
	}
	return strings.Join(lines, ",\n")
}

// FailHoldScript returns the script that writes the failed step and the reason into the run's own hold. The hold then
// has no end: the host stays held until a later run of the same bastion adopts the hold, or a person releases it. If
// the hold is not the run's, the script prints it and exits with ScriptHeld.
//
// notBooted is the digest of the planned OS if the host came back with another one, else "". The hold then also has the
// state of /boot (NotBooted).
func FailHoldScript(owner engine.HoldOwner, reason, step, notBooted string) string {
	failed := jsonField("reason", truncateText(reason)) + ",\n" + jsonField("step", truncateText(step)) + ","
	return holdScript(owner, bootStateScript+failHoldScript, [][2]string{{"failed", failed}, {"notbooted", notBooted}})
}

// BootStateScript returns the script that prints the state of /boot if a hold on the host, or one that a person ended,
// has a NotBooted. Else it prints nothing.
func BootStateScript() string {
	files := engine.HoldPath + " " + UnprovenPath
	return bootStateScript + "if { [ -e " + engine.HoldPath + " ] || [ -e " + UnprovenPath + " ]; } && " +
		`grep -qs '^"not_booted":' ` + files + "; then print_boot_state; fi"
}

// ReleaseScript returns the ReleaseScriptAt without the bastion's clock.
func ReleaseScript(owner engine.HoldOwner, r engine.Release) string {
	return ReleaseScriptAt(owner, r, time.Time{})
}

// ReleaseScriptAt returns the script that ends the hold of the run, removes the
// notice for logins, and starts the reboot helpers again. A host without a hold
// is no error. If somebody else holds the host, the script prints and keeps
// that hold, and exits with ScriptHeld.
//
// The script writes UpdatedPath and RejectedPath before it removes the hold, so
// that an interrupted release is repeated. now is the time of the bastion (zero: unknown). UpdatedPath gets the later one of
// now and the host's clock.
func ReleaseScriptAt(owner engine.HoldOwner, r engine.Release, now time.Time) string {
	when, accepts, whole := "", "", ""
	if r.Updated {
		when, accepts = UpdatedPath, r.Accepts
	}
	if r.Updated || r.Whole {
		whole = "yes"
	}
	return holdScript(owner, CheckBootScript()+refuseRebootsScript+releaseHoldScript, [][2]string{
		{"sent", unixSeconds(now)}, {"updated", when}, {"accepts", accepts}, {"boot", string(r.BootID)}, {"rejected", RejectedPath}, {"unproven", UnprovenPath}, {"whole", whole},
	})
}

// EndHoldScript returns the script that ends the hold whose text has this digest,
// as a HoldProbeScript printed it, even an unreadable one. If the host has another hold by now, the
// script prints and keeps that hold, and exits with ScriptHeld. The hold of a
// run becomes UnprovenPath, so that the next run knows how the host was before
// the disruption, unless accept is set.
func EndHoldScript(digest string, accept bool) string {
	whole := ""
	if accept {
		whole = "yes"
	}
	return holdScript(engine.HoldOwner{}, CheckBootScript()+refuseRebootsScript+releaseHoldScript, [][2]string{
		{"shown", digest},
		{"updated", ""},
		{"accepts", ""},
		{"boot", ""},
		{"rejected", RejectedPath},
		{"unproven", UnprovenPath},
		{"whole", whole},
	})
}

// AcceptScript returns the script that accepts the units of a host without a hold:
// it removes the record of their state before the last disruption. If somebody holds the
// host, the script prints the hold and exits with ScriptHeld.
func AcceptScript() string {
	return holdScript(engine.HoldOwner{}, acceptHostScript, [][2]string{{"unproven", UnprovenPath}})
}

// CheckHoldSnippet returns the first lines of every disruptive script. They end
// the script with ScriptHeld unless the run of owner holds the host. They also
// define two functions. check_hold repeats the check. "claim_host OPERATION" takes
// the lock of the hold, writes the run and the operation into the lock file,
// and repeats the check. The script keeps the lock until it ends, so nobody
// takes or ends a hold meanwhile. A hold script that waits too long for the
// lock prints the text of the lock file. Children that may outlive the script
// must close descriptor 9.
func CheckHoldSnippet(owner engine.HoldOwner) engine.Script {
	return checkSnippet("yes", owner, engine.HoldOwner{})
}

// CheckFreeSnippet returns the first lines of a script that disrupts nothing but must not touch a host that somebody
// else holds. They end the script with ScriptHeld unless the hold belongs to owner, the run of the script, or to adopted,
// whose hold this run adopts (zero: none). The lines define the same functions as CheckHoldSnippet.
func CheckFreeSnippet(owner, adopted engine.HoldOwner) engine.Script {
	return checkSnippet("", owner, adopted)
}

func checkSnippet(must string, owner, adopted engine.HoldOwner) engine.Script {
	values := Assign([][2]string{
		{"holdrun", owner.Run},
		{"holdown", ownerLines(owner)},
		{"holdadopted", ownerLines(adopted)},
		{"holdmust", must},
	})
	return engine.Script{{Values: values}, {Text: checkHoldText}}
}

var checkHoldText = engine.ShareText(Assign([][2]string{{"holdpath", engine.HoldPath}, {"holdlock", lockPath}}) + lockScript + checkHoldScript)

// lockPath is the file that scripts lock before they change a hold or act under
// it. Its text names the script that took the lock last.
const lockPath = engine.StateDir + "/lock"

// holdScript returns the variables of all hold scripts, those of this one, an empty line, and the text.
func holdScript(owner engine.HoldOwner, text string, variables [][2]string) string {
	return "set -eu\numask 077\nexport LC_ALL=C\n" + Assign([][2]string{
		{"dir", engine.StateDir},
		{"file", engine.HoldPath},
		{"holdlock", lockPath},
		{"motdfile", noticePath},
		{"motdtext", noticeTextPath},
		{"units", UnitDir},
		{"dropin", helperDropin},
		{"stageunit", StageUnit},
		{"helpers", strings.Join(RebootHelpers(), " ")},
		{"refused", strings.Join(rebootUnits(), " ")},
		{"refusals", bootUnitDir},
		{"refusal", helperDropin},
		{"inhibitor", InhibitorUnit},
		{"own", ownerLines(owner)},
		{"shown", ""},
		{"most", fmt.Sprint(MaxHold + 1)},
		{"sent", "0"},
	}) + Assign(variables) + "\n" + lockScript + holdLibScript + text
}

// ownerLines returns the lines of a hold that name its owner. A run without an ID owns no hold.
func ownerLines(o engine.HoldOwner) string {
	switch {
	case o.Run == "":
		return ""
	case o.Bastion == "":
		return jsonField("run", o.Run)
	}
	return jsonField("run", o.Run) + ",\n" + jsonField("bastion", o.Bastion)
}

// jsonField returns one member of a JSON object on one line. The scripts search for this spelling. JSON escapes quotes
// in a string, so no text of a person can look like a member.
func jsonField(name, value string) string {
	text, _ := json.Marshal(value) // a string always marshals
	return `"` + name + `":` + string(text)
}

func inSeconds(d engine.Duration) string {
	return fmt.Sprint(int64(time.Duration(d) / time.Second))
}

// unixSeconds returns the seconds since 1970; 0 for the zero time.
func unixSeconds(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return fmt.Sprint(t.Unix())
}

func noticeText(h engine.Hold) string {
	s := fmt.Sprintf("holdfast: this host is held by %s for %q", h.Holder, h.Reason)
	if h.Ticket != "" {
		s += " (" + h.Ticket + ")"
	}
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(textutil.Printable(s))
}

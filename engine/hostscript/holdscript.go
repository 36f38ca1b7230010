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
	RolloutPath  = engine.StateDir + "/rollout.json" // a Rollout
	UpdatedPath  = engine.StateDir + "/updated"      // a time (RFC 3339, UTC)
	RejectedPath = engine.StateDir + "/rejected"     // digests, one a line
)

// HoldScript returns the script that takes the host's hold for h.Run. The hold
// expires after lasts by the host's clock (0: never). The script renews a hold
// of h.Run, adopts a hold of the run adopt ("": none), and replaces no other
// hold. It prints the resulting hold as JSON. If somebody else holds the host,
// it prints that hold and exits with ScriptHeld. A power cut leaves either no
// hold or a complete one.
//
// If roll is not nil, the script writes it to RolloutPath.
func HoldScript(h engine.Hold, lasts engine.Duration, adopt string, roll *engine.Rollout) string {
	t := engine.TakeHold{For: lasts, Adopt: adopt}
	if roll != nil {
		t.Targets, t.RolloutRun, t.RolloutNumber, t.RolloutOver = roll.Targets, roll.Run, roll.Number, roll.Over
	}
	return TakeHoldScript(h, t)
}

// TakeHoldScript returns the HoldScript of a step. If t.Renewed is set, the
// script adopts only a hold that was last written at that time: a run that has
// renewed its hold in the meantime is alive.
func TakeHoldScript(h engine.Hold, t engine.TakeHold) string {
	h = TruncateHold(h)
	var head []string
	for _, f := range [][2]string{
		{"kind", string(h.Kind)},
		{"holder", h.Holder},
		{"run", h.Run},
		{"bastion", h.Bastion}, // right after the run: scripts search for the two lines together
		{"reason", h.Reason},
		{"ticket", h.Ticket},
		{"step", h.Step},
		{"from", h.PreviousOS},
		{"etcd_cluster", h.Cluster},
	} {
		if f[1] != "" || f[0] == "reason" {
			head = append(head, jsonField(f[0], f[1])+",")
		}
	}
	if len(h.Units) > 0 {
		units, _ := json.Marshal(h.Units) // strings always marshal
		head = append(head, `"units":`+string(units)+",")
	}
	if h.UnitsLeft > 0 {
		head = append(head, fmt.Sprintf(`"units_left":%d,`, h.UnitsLeft))
	}
	adoptLine := ""
	if t.Adopt != "" {
		adoptLine = jsonField("run", t.Adopt)
	}
	seenLine := ""
	if !t.Renewed.IsZero() {
		seenLine = jsonField("renewed", t.Renewed.UTC().Format(time.RFC3339))
	}
	note := ""
	if len(t.Targets) > 0 {
		targets, _ := json.Marshal(t.Targets) // a map of strings always marshals, by key
		note = jsonField("run", t.RolloutRun) + ",\n" + `"targets":` + string(targets)
		if t.RolloutNumber > 0 {
			note += fmt.Sprintf(",\n\"number\":%d", t.RolloutNumber)
		}
		if len(t.RolloutOver) > 0 {
			over, _ := json.Marshal(t.RolloutOver) // strings always marshal
			note += ",\n" + `"over":` + string(over)
		}
	}
	return holdVars(h.Owner()) +
		"adopt=" + Quote(adoptLine) + "\n" +
		"seen=" + Quote(seenLine) + "\n" +
		"note=" + Quote(note) + "\n" +
		"rollout=" + RolloutPath + "\n" +
		"head=" + Quote(strings.Join(head, "\n")) + "\n" +
		"lasts=" + inSeconds(t.For) + "\n" +
		"motd=" + Quote(noticeText(h)) + "\n" +
		holdLib + takeBody
}

// FailHoldScript returns the script that writes the failed step and the reason into the run's own hold. The hold then
// has no end: the host stays held until a later run of the same bastion adopts the hold, or a person releases it. If
// the hold is not the run's, the script prints it and exits with ScriptHeld.
func FailHoldScript(owner engine.HoldOwner, reason, step string) string {
	failed := jsonField("reason", truncateText(reason)) + ",\n" + jsonField("step", truncateText(step)) + ","
	return holdVars(owner) + "failed=" + Quote(failed) + "\n" + holdLib + failBody
}

// ReleaseScript returns the script that ends the hold of the run, removes the
// notice for logins, and starts the reboot helpers again. A host without a hold
// is no error. If somebody else holds the host, the script prints and keeps
// that hold, and exits with ScriptHeld.
//
// The script writes UpdatedPath and RejectedPath before it removes the hold, so
// that an interrupted release is repeated.
func ReleaseScript(owner engine.HoldOwner, r engine.Release) string {
	when, accepts := "", ""
	if r.Updated {
		when, accepts = UpdatedPath, r.Accepts
	}
	return holdVars(owner) +
		"updated=" + Quote(when) + "\n" +
		"accepts=" + Quote(accepts) + "\n" +
		"boot=" + Quote(r.BootID) + "\n" +
		"rejected=" + RejectedPath + "\n" +
		holdLib + releaseBody
}

// EndHoldScript returns the script that ends the hold that a HoldProbeScript
// printed, even an unreadable one. If the host has another hold by now, the
// script prints and keeps that hold, and exits with ScriptHeld.
func EndHoldScript(printed string) string {
	return holdVars(engine.HoldOwner{}) +
		"shown=" + engine.Digest([]byte(printed)) + "\n" +
		"updated=\naccepts=\nboot=\nrejected=" + RejectedPath + "\n" +
		holdLib + releaseBody
}

// CheckHoldSnippet returns the first lines of every disruptive script. They end
// the script with ScriptHeld unless the run of owner holds the host. They also
// define two functions. checkhold repeats the check. "claim OPERATION" takes
// the lock of the hold, writes the run and the operation into the lock file,
// and repeats the check. The script keeps the lock until it ends, so nobody
// takes or ends a hold meanwhile. A hold script that waits too long for the
// lock prints the text of the lock file. Children that may outlive the script
// must close descriptor 9.
func CheckHoldSnippet(owner engine.HoldOwner) string { return checkSnippet(true, owner) }

// CheckFreeSnippet returns the first lines of a script that disrupts nothing but must not touch a host that somebody
// else holds. They end the script with ScriptHeld if the hold belongs to none of the owners. owners[0] is the run of
// the script. The lines define the same functions as CheckHoldSnippet.
func CheckFreeSnippet(owners ...engine.HoldOwner) string { return checkSnippet(false, owners...) }

func checkSnippet(must bool, owners ...engine.HoldOwner) string {
	var own []string
	for _, o := range owners {
		if o.Run != "" {
			own = append(own, "*"+Quote(ownerLines(o))+"*) ;;\n")
		}
	}
	missing := ""
	if must {
		missing = "printf '%s\\n' 'hold: the host is not held by this run; nothing was done' >&2; exit " + fmt.Sprint(ScriptHeld) + " "
	}
	run := ""
	if len(owners) > 0 {
		run = owners[0].Run
	}
	return "checkhold() {\nhold=none\n" +
		"if [ -e " + engine.HoldPath + " ] || [ -L " + engine.HoldPath + " ]; then hold=$(cat " + engine.HoldPath + ") || hold=unreadable; fi\n" +
		"case $hold in\nnone) " + missing + ";;\n" + strings.Join(own, "") +
		"*) printf '%s\\n' \"$hold\"; printf '%s\\n' 'hold: the host is held by someone else; nothing was done' >&2; exit " +
		fmt.Sprint(ScriptHeld) + " ;;\nesac\n}\n" +
		"claim() {\n[ -d " + engine.StateDir + " ] || (umask 077 && mkdir -p " + engine.StateDir + ")\nexec 9>>" + lockPath + "\n" + lockLines +
		"checkhold\nprintf '%s\\n' " + Quote("run "+run) + "\", $1, since $(date -u +%Y-%m-%dT%H:%M:%SZ)\" >" + lockPath + "\n}\n" +
		"checkhold\n"
}

// lockPath is the file that scripts lock before they change a hold or act under
// it. Its text names the script that took the lock last.
const lockPath = engine.StateDir + "/lock"

// lockLines lock descriptor 9. If another script keeps the lock for 30 s, they
// print the text of the lock file and end the script.
const lockLines = `if command -v flock >/dev/null 2>&1 && ! flock -w 30 9; then
	printf '%s\n' "hold: for 30 s the host has been busy with $(head -c 200 ` + lockPath + `); nothing was done, try again when that is over" >&2
	exit 75
fi
`

// holdVars returns the lines that set the variables of all hold scripts. A run
// without an ID owns no hold.
func holdVars(owner engine.HoldOwner) string {
	own := ""
	if owner.Run != "" {
		own = ownerLines(owner)
	}
	return "set -eu\numask 077\nexport LC_ALL=C\n" +
		"dir=" + engine.StateDir + "\nfile=" + engine.HoldPath + "\n" +
		"motdfile=" + NoticePath + "\nmotdtext=" + NoticeTextPath + "\nunits=" + UnitDir + "\ndropin=" + HelperDropin + "\n" +
		"stageunit=" + StageUnit + "\n" +
		"helpers=" + Quote(strings.Join(RebootHelpers(), " ")) + "\n" +
		"own=" + Quote(own) + "\nshown=\nmost=" + fmt.Sprint(MaxHold+1) + "\n"
}

func ownerLines(o engine.HoldOwner) string {
	if o.Bastion == "" {
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

func noticeText(h engine.Hold) string {
	s := fmt.Sprintf("holdfast: this host is held by %s for %q", h.Holder, h.Reason)
	if h.Ticket != "" {
		s += " (" + h.Ticket + ")"
	}
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(textutil.Printable(s))
}

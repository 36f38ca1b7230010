package hostconfig

import (
	_ "embed" // embeds scripts
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/rules"
	"holdfast/modules/shell"
)

// These scripts write a configuration, carry out actions and write the record.
var (
	//go:embed sh/room.sh
	roomScript string
	//go:embed sh/tx.sh
	txScript string
	//go:embed sh/lists.sh
	listsScript string
	//go:embed sh/place.sh
	placeScript string
	//go:embed sh/replace.sh
	replaceScript string
	//go:embed sh/append.sh
	appendScript string
	//go:embed sh/accounts.sh
	accountsScript string
	//go:embed sh/wayin.sh
	wayInScript string
	//go:embed sh/probation.sh
	probationScript string
	//go:embed sh/confirm.sh
	confirmScript string
	//go:embed sh/unprove.sh
	unproveScript string
	//go:embed sh/undo.sh
	undoScript string
	//go:embed sh/write.sh
	writeScript string
	//go:embed sh/keys.sh
	keysScript string
	//go:embed sh/act.sh
	actionScript string
	//go:embed sh/record.sh
	recordedScript string
)

// These are the texts of the scripts of steps.
var (
	writeFunctionsText = shareLibrary(hostscript.CheckBootScript(), listsScript, placeScript, replaceScript, appendScript, accountsScript, wayInScript, probationScript, undoScript, actionScript, recordedScript)
	writeText          = engine.ShareText(writeScript)
	keysText           = engine.ShareText(keysScript)
	actionText         = engine.ShareText(actionScript)
	actText            = shareLibrary(actionScript, openWrite)
	closeText          = shareLibrary(actionScript, recordedScript, openWrite)
	recordText         = shareLibrary(recordedScript, openWrite, "complete_record\n")
	confirmText        = shareLibrary(confirmScript)
	unproveText        = shareLibrary(unproveScript)
)

// buildScript returns the script of the whole write, and its uploads. If the
// write fails, the script changes nothing, and exits with ScriptHeld,
// ScriptChanged, ScriptNoSpace or ScriptCannot. If it cannot undo the write, it
// exits with ScriptHalfDone. If everything is written but an action fails, it
// exits with ScriptActionFailed.
func (w hostWrite) buildScript() (script engine.Script, uploads []engine.Upload) {
	uploads = w.listUploads()
	edits := w.arrangeEdits()
	stats, digests, targets := expectedOutput(edits)
	restores := slices.ContainsFunc(edits, func(e pathEdit) bool { return e.kind == resource.PathFile && e.restore })
	accounts := newAccountList(w)
	s := shell.Script{
		Vars: map[string]string{
			"run": w.owner.Run, "doing": "write", "root": "",
			"statistics": stats, "digests": digests, "targets": targets,
			"hasaccounts": yesIf(accounts.any), "hasrests": yesIf(restores), "probation": w.probationSeconds(),
		},
		Boot: w.boot,
		Job:  shell.Text(keysText),
		Text: engine.Script{
			{Text: writeFunctionsText},
			{Values: shellCalls(edits) + accounts.shellFunctions() + unitFunctions(w.units) + hostscript.Assign([][2]string{{"sums", sumLines(uploads)}})},
			{Text: writeText},
			{Values: w.closingLines()},
		},
	}
	return shell.BuildStrict(w.holdCheck(), s), uploads
}

func (w hostWrite) holdCheck() engine.Script {
	if w.quiet {
		return hostscript.CheckFreeSnippet(w.owner, w.adopted)
	}
	return hostscript.CheckHoldSnippet(w.owner)
}

func (w hostWrite) closingLines() string {
	if !w.quiet || w.probation {
		return "remove_write_files\n"
	}
	return w.actLines() + "mark_point acted\ncomplete_record\n"
}

func (w hostWrite) actLines() string {
	var b strings.Builder
	for i, a := range w.acts {
		b.WriteString(actLine(i, a))
	}
	return b.String()
}

func (w hostWrite) listUploads() []engine.Upload {
	var list []engine.Upload
	add := func(name string, data []byte) { list = append(list, engine.Upload{Name: name, Data: data}) }
	for digest, data := range w.data {
		add(digest, data)
	}
	add("before", w.before)
	if w.quiet && !w.probation {
		list = append(list, w.closingUploads()...)
	}
	for i, u := range w.users {
		if !u.keys {
			continue
		}
		add("keys-"+strconv.Itoa(i), joinLines(u.want.SSHKeys))
		if u.was != nil {
			add("oldkeys-"+strconv.Itoa(i), joinLines(u.was.Keys))
		}
	}
	slices.SortFunc(list, func(a, b engine.Upload) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// closingUploads are the records of the script that acts and records.
func (w hostWrite) closingUploads() []engine.Upload {
	list := []engine.Upload{{Name: "after", Data: w.after}}
	for i, a := range w.acts {
		list = append(list, engine.Upload{Name: "failed-" + strconv.Itoa(i), Data: w.failure(a.String())})
	}
	return list
}

func joinLines(list []string) []byte {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s + "\n")
	}
	return []byte(b.String())
}

// sumLines returns the input of sha256sum -c for the uploads.
func sumLines(uploads []engine.Upload) string {
	var b strings.Builder
	for _, u := range uploads {
		b.WriteString(resource.Digest(u.Data) + "  " + u.Name + "\n")
	}
	return b.String()
}

// hostWrite is a write to a host by one script, which writes everything or
// nothing.
type hostWrite struct {
	owner engine.HoldOwner // the run that must hold the host
	quiet bool             // writes without a hold; nobody else may hold the host

	addsArgs  bool // the record must name kernel arguments before they are added
	probation bool // the host undoes the write unless a new login proves itself

	adopted engine.HoldOwner // whose hold does not prevent a quiet write; zero: none
	boot    resource.BootID  // boot ID in the plan; on another boot the script exits with ScriptChanged
	edits   []pathEdit       // in any order, see arrangeEdits
	groups  []groupEdit      // changed before users; users are changed before files
	users   []loginEdit
	units   []unitEdit                 // changed after files
	before  []byte                     // the record during the write: the old record, and the unfinished write
	failure func(action string) []byte // returns the record to write if this action fails
	after   []byte                     // the record after everything has taken effect
	acts    []rules.Action             // actions of the same script, if quiet
	data    map[string][]byte          // contents and password hashes that edits name, by digest
}

// groupEdit creates, changes or removes a group.
type groupEdit struct {
	want   resource.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // the group leaves the configuration: only its password changes
	keep   bool // keep the current hash as the original
	back   bool // restore the hash from before holdfast
	lock   bool // lock the password

	renumbered bool // its GID changes
}

// loginEdit creates, changes or removes an account with its password and SSH
// keys.
type loginEdit struct {
	want     resource.User   // PasswordHash is the digest of the hash, which is in data
	was      *resource.Login // nil: the account does not exist
	account  bool            // create the account, change it to want.Account, or remove it
	password bool            // set want.PasswordHash; if "", lock the password
	keep     bool            // keep the current hash as the original
	back     bool            // instead, restore the hash from before holdfast
	keys     bool            // set the SSH keys that holdfast manages to want.SSHKeys; if empty, remove them
	retire   bool            // lock the account: it leaves, and holdfast created it
	revive   bool            // unlock the account: it was retired, and is desired again
	join     []string        // groups to add to the account
	part     []string        // groups to take away from the account, which holdfast had added
}

// unitEdit enables, disables or presets a unit.
type unitEdit struct {
	name      string
	enabled   bool   // the unit is enabled now
	do        string // enable, disable or preset
	early     bool   // run before files change: a unit is disabled before its file is removed
	ifPresent bool   // the script skips the unit if the host does not have it then
}

// unitFunctions returns the variable hasunits (whether the undo enables units) and
// two shell functions: change_units enables and disables units
// early or late, and restore_units undoes this.
func unitFunctions(units []unitEdit) string {
	var do, back strings.Builder
	for _, when := range []string{"early", "late"} {
		do.WriteString(when + ")\n:\n")
		back.WriteString(when + ")\n:\n")
		for _, verb := range []string{"disable", "preset", "enable"} {
			for _, ifPresent := range []bool{false, true} {
				call, undo := unitCalls(when, verb, dropMatching(units, func(u unitEdit) bool {
					return u.do != verb || u.early != (when == "early") || u.ifPresent != ifPresent
				}))
				do.WriteString(call)
				back.WriteString(undo)
			}
		}
		do.WriteString(";;\n")
		back.WriteString(";;\n")
	}
	disables := yesIf(slices.ContainsFunc(units, func(u unitEdit) bool { return u.enabled && u.do != "enable" }))
	return "hasunits='" + disables + "'\nchange_units() { case $1 in\n" + do.String() + "esac; }\nrestore_units() { case $1 in\n" + back.String() + "esac; }\n"
}

// unitCalls returns the shell commands that change units with one call of systemctl,
// and that undo this.
func unitCalls(when, verb string, units []unitEdit) (do, back string) {
	if len(units) == 0 {
		return "", ""
	}
	var names, were, others []string // were: enabled before; others: not
	for _, u := range units {
		names = append(names, u.name)
		if u.enabled {
			were = append(were, u.name)
		} else {
			others = append(others, u.name)
		}
	}
	prefix := ""
	if units[0].ifPresent {
		prefix = "call_for_present "
	}
	do = prefix + "run_systemctl " + when + " " + verb + " --" + quoteWords(names) + "\n"
	if len(were) > 0 && verb != "enable" {
		back += prefix + "undo_systemctl " + when + " " + verb + " enable" + quoteWords(were) + "\n"
	}
	if len(others) > 0 && verb != "disable" {
		back += prefix + "undo_systemctl " + when + " " + verb + " disable" + quoteWords(others) + "\n"
	}
	return do, back
}

package hostconfig

import (
	_ "embed" // scripts
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
	"holdfast/modules/shell"
)

// The scripts of a write, its actions and its record.
var (
	//go:embed sh/room.sh
	roomScript string
	//go:embed sh/tx.sh
	txScript string
	//go:embed sh/place.sh
	placeScript string
	//go:embed sh/replace.sh
	replaceScript string
	//go:embed sh/append.sh
	appendScript string
	//go:embed sh/accounts.sh
	accountsScript string
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

// buildScript returns the script of the whole write, and its uploads. The
// script exits with ScriptHeld, ScriptChanged or ScriptNoSpace, or with 1 if a
// write fails, each time with nothing changed. It exits with ScriptActed if all
// is written, but an action has failed. If the write is quiet, only these
// holders may hold the host.
func (w hostWrite) buildScript(holders ...engine.HoldOwner) (text string, uploads []engine.Upload) {
	uploads = w.listUploads()
	list := newListing(w)
	accounts := newAccountList(w)
	yes := ""
	if accounts.any {
		yes = "yes"
	}
	s := shell.Script{
		Vars: map[string]string{
			"run": w.owner.Run, "doing": "write", "root": "", "boot": w.boot,
			"statistics": list.expectedStats(), "digests": list.expectedDigests(), "targets": list.expectedTargets(), "hasaccounts": yes, "hasrests": yesIf(list.keepsRemainder()),
		},
		Job: keysScript,
		Text: strings.Join([]string{
			pointScript, shell.GroundScript, roomScript, txScript, placeScript, replaceScript, appendScript, accountsScript, undoScript, actionScript, recordedScript,
			list.shellFunctions(), accounts.shellFunctions(), unitFunctions(w.units), uploadedFunction(uploads),
			writeScript, w.closingLines(),
		}, ""),
	}
	return shell.Strict + w.holdCheck(holders) + s.String(), uploads
}

func (w hostWrite) holdCheck(holders []engine.HoldOwner) string {
	if w.quiet {
		return hostscript.CheckFreeSnippet(holders...)
	}
	return hostscript.CheckHoldSnippet(w.owner)
}

func (w hostWrite) closingLines() string {
	if !w.quiet {
		return "trim\n"
	}
	var b strings.Builder
	for i, a := range w.acts {
		b.WriteString(actLine(i, a))
	}
	return b.String() + "point acted\nrecorded\n"
}

func (w hostWrite) listUploads() []engine.Upload {
	var list []engine.Upload
	add := func(name string, data []byte) { list = append(list, engine.Upload{Name: name, Data: data}) }
	for digest, data := range w.data {
		add(digest, data)
	}
	add("before", w.before)
	if w.quiet {
		add("after", w.after)
		for i, a := range w.acts {
			add("failed-"+strconv.Itoa(i), w.failure(a.String()))
		}
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

func joinLines(list []string) []byte {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(s + "\n")
	}
	return []byte(b.String())
}

func uploadedFunction(uploads []engine.Upload) string {
	var b strings.Builder
	for _, u := range uploads {
		b.WriteString(engine.Digest(u.Data) + "  " + u.Name + "\n")
	}
	return "uploaded() { printf %s " + hostscript.Quote(b.String()) + "; }\n"
}

// hostWrite is everything that one script writes to a host, wholly or not at
// all.
type hostWrite struct {
	owner   engine.HoldOwner // the run that must hold the host
	quiet   bool             // without a hold: nobody else may hold the host
	boot    string           // planned boot ID: with another one the script exits with ScriptChanged
	edits   []pathEdit       // parents before their contents; deletions last, in reverse order
	groups  []groupEdit      // before users, as users are before files
	users   []loginEdit
	units   []unitEdit                 // after the files
	before  []byte                     // applied.json during the write: the old record, and the unfinished write
	failure func(action string) []byte // returns applied.json for the case that this action fails
	after   []byte                     // applied.json after all has taken effect
	acts    []rules.Action             // done by the same script, if quiet
	data    map[string][]byte          // by digest: contents and password hashes that edits name
}

// pathEdit is the change of one path.
type pathEdit struct {
	path        string
	was         engine.PathFacts // at the time of the plan; if it differs now, nothing at all is written
	kind        engine.PathType  // the new type; NoNode: remove it, or restore its original
	hard        bool             // a hard link
	mode        int              // permission bits; -1: unchanged, or 0644, or 0755 for a directory
	user, group string           // names or decimal IDs; "": unchanged, or root
	data        string           // of a file: digest of its contents; of a link: its target
	save        bool             // keep the existing file as the original
	restore     bool             // when removed: an original is kept
}

// groupEdit creates, changes or removes a group.
type groupEdit struct {
	want   engine.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // it is no longer desired, so only its password changes
	keep   bool // the hash that it has now is kept as the original
	back   bool // the hash that it had before holdfast is put back
	lock   bool // no password is to be let in
}

// loginEdit creates, changes or removes an account with its password and SSH
// keys.
type loginEdit struct {
	want     engine.User   // PasswordHash is the digest of the hash, which is in data
	was      *engine.Login // nil: the account does not exist
	account  bool          // create it, change it to want.Account, or remove it
	password bool          // set want.PasswordHash; if "", lock the password
	keep     bool          // the hash that it has now is kept as the original
	back     bool          // instead, restore the hash from before holdfast
	keys     bool          // make want.SSHKeys the SSH keys that holdfast manages; if empty, remove them
	retire   bool          // it leaves, and holdfast created it: lock it
	revive   bool          // it was retired, and is desired again
}

// unitEdit changes whether a unit is started at boot.
type unitEdit struct {
	name    string
	enabled bool   // it is now
	do      string // enable, disable or preset
	early   bool   // before the files change: a unit is disabled before it is removed
}

// unitFunctions returns the shell function units, which enables and disables
// units early or late, and unitsback, which undoes that.
func unitFunctions(units []unitEdit) string {
	var do, back strings.Builder
	for _, when := range []string{"early", "late"} {
		do.WriteString(when + ")\n:\n")
		back.WriteString(when + ")\n:\n")
		for _, verb := range []string{"disable", "preset", "enable"} {
			var names, were, others []string // were enabled before
			for _, u := range units {
				switch {
				case u.do != verb || u.early != (when == "early"):
					continue
				case u.enabled:
					were = append(were, u.name)
				default:
					others = append(others, u.name)
				}
				names = append(names, u.name)
			}
			if len(names) == 0 {
				continue
			}
			do.WriteString("unit " + when + " " + verb + " --" + quoteWords(names) + "\n")
			if len(were) > 0 && verb != "enable" {
				back.WriteString("unback " + when + " " + verb + " enable" + quoteWords(were) + "\n")
			}
			if len(others) > 0 && verb != "disable" {
				back.WriteString("unback " + when + " " + verb + " disable" + quoteWords(others) + "\n")
			}
		}
		do.WriteString(";;\n")
		back.WriteString(";;\n")
	}
	return "units() { case $1 in\n" + do.String() + "esac; }\nunitsback() { case $1 in\n" + back.String() + "esac; }\n"
}

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

// buildScript returns the script of the whole write, and its uploads. If the
// write fails, the script changes nothing, and exits with ScriptHeld,
// ScriptChanged, ScriptNoSpace or 1. If everything is written but an action
// fails, it exits with ScriptActionFailed.
func (w hostWrite) buildScript() (text string, uploads []engine.Upload) {
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
			pointScript, hostscript.GroundScript, roomScript, txScript, placeScript, replaceScript, appendScript, accountsScript, undoScript, actionScript, recordedScript,
			list.shellFunctions(), accounts.shellFunctions(), unitFunctions(w.units), uploadedFunction(uploads),
			writeScript, w.closingLines(),
		}, ""),
	}
	return shell.Strict + w.holdCheck() + s.String(), uploads
}

func (w hostWrite) holdCheck() string {
	if w.quiet {
		return hostscript.CheckFreeSnippet(w.owner, w.adopted)
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
		b.WriteString(resource.Digest(u.Data) + "  " + u.Name + "\n")
	}
	return "uploaded() { printf %s " + hostscript.Quote(b.String()) + "; }\n"
}

// hostWrite is a write to a host by one script, which writes everything or
// nothing.
type hostWrite struct {
	owner   engine.HoldOwner // the run that must hold the host
	quiet   bool             // writes without a hold; nobody else may hold the host
	adopted engine.HoldOwner // whose hold does not prevent a quiet write; zero: none
	boot    string           // boot ID in the plan; on another boot the script exits with ScriptChanged
	edits   []pathEdit       // parents before their contents; deletions last, in reverse order
	groups  []groupEdit      // changed before users; users are changed before files
	users   []loginEdit
	units   []unitEdit                 // changed after files
	before  []byte                     // the record during the write: the old record, and the unfinished write
	failure func(action string) []byte // returns the record to write if this action fails
	after   []byte                     // the record after everything has taken effect
	acts    []rules.Action             // actions of the same script, if quiet
	data    map[string][]byte          // contents and password hashes that edits name, by digest
}

// pathEdit is the change of one path.
type pathEdit struct {
	path        string
	was         resource.PathFacts // state in the plan; if the path differs now, the script writes nothing at all
	kind        resource.PathType  // the new type; PathMissing: remove the path, or restore its original
	hard        bool               // the link is a hard link
	mode        int                // permission bits; -1: unchanged, or for new paths 0644, for new directories 0755
	user, group string             // names or decimal IDs; "": unchanged, or root for new paths
	data        string             // digest of the contents of a file, or target of a link
	save        bool               // keep the existing file as the original
	restore     bool               // the path is removed, and has an original to restore
}

// groupEdit creates, changes or removes a group.
type groupEdit struct {
	want   resource.Group // PasswordHash is the digest of the hash, which is in data
	exists bool
	leaves bool // the group leaves the configuration: only its password changes
	keep   bool // keep the current hash as the original
	back   bool // restore the hash from before holdfast
	lock   bool // lock the password
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
}

// unitEdit enables, disables or presets a unit.
type unitEdit struct {
	name    string
	enabled bool   // the unit is enabled now
	do      string // enable, disable or preset
	early   bool   // run before files change: a unit is disabled before its file is removed
}

// unitFunctions returns two shell functions: units enables and disables units
// early or late, and unitsback undoes this.
func unitFunctions(units []unitEdit) string {
	var do, back strings.Builder
	for _, when := range []string{"early", "late"} {
		do.WriteString(when + ")\n:\n")
		back.WriteString(when + ")\n:\n")
		for _, verb := range []string{"disable", "preset", "enable"} {
			var names, were, others []string // were: enabled before; others: not
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

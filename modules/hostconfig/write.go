package hostconfig

import (
	_ "embed" // scripts
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/hostscript"
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

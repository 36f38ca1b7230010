package hostconfig

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/rules"
	"holdfast/modules/shell"
)

// defaultActionTimeout is how long a reload or restart may take if its rule has
// no timeout.
const defaultActionTimeout = engine.Duration(2 * time.Minute)

// actScript returns the script that carries out one action on a host that the run
// holds. If the action fails or takes too long, the script writes failed as the
// record of the host, and exits with ScriptActionFailed.
func actScript(owner engine.HoldOwner, a rules.Action, failed []byte) (engine.Script, []engine.Upload) {
	uploads := []engine.Upload{{Name: "failed-0", Data: failed}}
	script := append(shell.Text(actText), engine.NewScript(actLine(0, a)+"mark_point acted\nremove_write_files\n")...)
	return libraryScript(owner.Run, a.String(), hostscript.CheckHoldSnippet(owner), script), uploads
}

// recordScript returns the script that records the applied configuration after
// everything has taken effect. The script also ends the write of the run. If
// quiet, the script requires that nobody else holds the host. If not, it requires
// that the run holds the host.
func recordScript(owner engine.HoldOwner, after []byte, quiet bool) (engine.Script, []engine.Upload) {
	check := hostscript.CheckHoldSnippet(owner)
	if quiet {
		check = hostscript.CheckFreeSnippet(owner, engine.HoldOwner{})
	}
	return libraryScript(owner.Run, "record", check, shell.Text(recordText)), []engine.Upload{{Name: "after", Data: after}}
}

// openWrite begins the scripts that follow a write.
const openWrite = "take_write_lock\nreceive_files\nclaim_host \"$doing\"\n"

// libraryScript returns a script with the variables of the functions that all scripts
// of a write share. Its text begins with shareLibrary.
func libraryScript(run, doing string, check, text engine.Script) engine.Script {
	vars := map[string]string{"run": run, "doing": doing, "root": ""}
	return shell.BuildStrict(check, shell.Script{Vars: vars, Text: text})
}

// shareLibrary returns a text with the functions that all scripts of a write share.
func shareLibrary(texts ...string) *engine.SharedText {
	return engine.ShareText(pointScript + hostscript.GroundScript + roomScript + txScript + strings.Join(texts, ""))
}

// ActionSnippet returns the end of a script that carries out one action and writes
// no record.
func ActionSnippet(a rules.Action) engine.Script {
	return append(shell.Text(actionText), engine.NewScript(actLine(0, a))...)
}

func actLine(n int, a rules.Action) string {
	limit := actionTimeout(a)
	seconds := max(1, int64(time.Duration(limit)/time.Second))
	args := []string{"run_action", strconv.Itoa(n), string(a.Type), hostscript.Quote(a.Unit), fmt.Sprint(seconds), hostscript.Quote(time.Duration(limit).String())}
	return strings.Join(args, " ") + "\n"
}

func actionTimeout(a rules.Action) engine.Duration {
	if a.Timeout <= 0 {
		return defaultActionTimeout
	}
	return a.Timeout
}

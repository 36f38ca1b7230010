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
func actScript(owner engine.HoldOwner, a rules.Action, failed []byte) (string, []engine.Upload) {
	uploads := []engine.Upload{{Name: "failed-0", Data: failed}}
	s := shell.Script{
		Vars: map[string]string{"run": owner.Run, "doing": a.String(), "root": ""},
		Text: pointScript + hostscript.GroundScript + roomScript + txScript + actionScript + "lock\nreceive\nclaim \"$doing\"\n" + actLine(0, a) +
			"point acted\ntrim\n",
	}
	return shell.Strict + hostscript.CheckHoldSnippet(owner) + s.String(), uploads
}

// recordScript returns the script that records the applied configuration after
// everything has taken effect. The script also ends the write of the run. If
// quiet, the script requires that nobody else holds the host. If not, it requires
// that the run holds the host.
func recordScript(owner engine.HoldOwner, after []byte, quiet bool) (string, []engine.Upload) {
	check := hostscript.CheckHoldSnippet(owner)
	if quiet {
		check = hostscript.CheckFreeSnippet(owner, engine.HoldOwner{})
	}
	s := shell.Script{
		Vars: map[string]string{"run": owner.Run, "doing": "record", "root": ""},
		Text: pointScript + hostscript.GroundScript + roomScript + txScript + recordedScript + "lock\nreceive\nclaim \"$doing\"\nrecorded\n",
	}
	return shell.Strict + check + s.String(), []engine.Upload{{Name: "after", Data: after}}
}

// ActionSnippet returns shell text that carries out one action, for a script that
// writes no record.
func ActionSnippet(a rules.Action) string { return actionScript + actLine(0, a) }

func actLine(n int, a rules.Action) string {
	limit := actionTimeout(a)
	seconds := max(1, int64(time.Duration(limit)/time.Second))
	args := []string{"act", strconv.Itoa(n), string(a.Type), hostscript.Quote(a.Unit), fmt.Sprint(seconds), hostscript.Quote(time.Duration(limit).String())}
	return strings.Join(args, " ") + "\n"
}

func actionTimeout(a rules.Action) engine.Duration {
	if a.Timeout <= 0 {
		return defaultActionTimeout
	}
	return a.Timeout
}

package observe

import (
	_ "embed" // embeds readfile.sh
	"strconv"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/shell"
)

//go:embed sh/readfile.sh
var readFileScript string

// ReadFileScript returns the script that prints at most limit bytes of a file of
// a host, as root. The script follows a link only if nobody but root can have
// created it, and does not wait for a pipe. If there is no such file, its exit
// status is hostscript.ScriptNoFile.
func ReadFileScript(path string, limit int) string {
	s := shell.Script{Vars: map[string]string{"root": "", "path": path, "limit": strconv.Itoa(limit), "missing": strconv.Itoa(hostscript.ScriptNoFile)}, Text: engine.NewScript(hostscript.GroundScript + readFileScript)}
	return shell.Strict + "export LC_ALL=C\n" + s.String()
}

package observe

import (
	_ "embed" // the script
	"strconv"

	"holdfast/modules/shell"
)

//go:embed sh/readfile.sh
var readFileScript string

// ReadFileScript returns the script that prints at most limit bytes of a file
// of a host, as root. It follows only links that root alone can have created,
// and does not wait for a pipe.
func ReadFileScript(path string, limit int) string {
	s := shell.Script{Vars: map[string]string{"root": "", "path": path, "limit": strconv.Itoa(limit)}, Text: shell.GroundScript + readFileScript}
	return shell.Strict + "export LC_ALL=C\n" + s.String()
}

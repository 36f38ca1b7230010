package modules

import (
	_ "embed" // the script
	"strconv"
)

//go:embed sh/readfile.sh
var readFileScript string

// ReadFileScript returns the script that prints a file of a host as root, at most so
// many bytes of it. It follows no link that anybody but root can have made, and
// waits for no pipe.
func ReadFileScript(path string, limit int) string {
	s := script{vars: map[string]string{"root": "", "path": path, "limit": strconv.Itoa(limit)}, text: groundScript + readFileScript}
	return strict + "export LC_ALL=C\n" + s.String()
}

package modules

import (
	_ "embed" // the script
	"strconv"
)

//go:embed sh/readfile.sh
var readFileScript string

// ReadFileScript returns the script that prints at most limit bytes of a file
// of a host, as root. It follows only links that root alone can have created,
// and does not wait for a pipe.
func ReadFileScript(path string, limit int) string {
	s := script{vars: map[string]string{"root": "", "path": path, "limit": strconv.Itoa(limit)}, text: groundScript + readFileScript}
	return strict + "export LC_ALL=C\n" + s.String()
}

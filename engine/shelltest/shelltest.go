// Package shelltest runs shellcheck over the scripts for hosts in the form in
// which holdfast sends them: put together from their parts.
package shelltest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// excluded lists the rules that do not apply to scripts that are put together.
var excluded = []string{
	"SC2015", // "A && B || refuse" refuses if A or B fails, because refuse never returns
	"SC2016", // a quoted script expands where it runs, and is checked as a file
	"SC2030", // a variable that is set in a subshell is used only there
	"SC2031",
	"SC2034", // a part may set more variables than this script reads
	"SC2209", // doing=write names a part of the write, not a command
	"SC2317", // a part may define more functions than this script calls
	"SC2329", // the same, in later versions of shellcheck
	"SC3013", // -ef is not POSIX, but dash, bash and busybox support it
}

// Check reports every finding of shellcheck about a script. Without
// HOLDFAST_SHELLCHECK it skips the test, because shellcheck takes long. .ci/run
// has a step that sets the variable.
func Check(t *testing.T, name, script string) {
	t.Helper()
	if os.Getenv("HOLDFAST_SHELLCHECK") == "" {
		t.Skip("HOLDFAST_SHELLCHECK is not set")
	}
	cmd := exec.Command("shellcheck", "--shell=sh", "--norc", "--format=gcc", "--exclude="+strings.Join(excluded, ","), "-")
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return
	}
	lines := strings.Split(script, "\n")
	for _, finding := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		t.Errorf("%s: %s\n\t%s", name, finding, quoteLine(lines, finding))
	}
}

func quoteLine(lines []string, finding string) string {
	parts := strings.SplitN(finding, ":", 3)
	n := 0
	if len(parts) > 1 {
		for _, digit := range parts[1] {
			n = 10*n + int(digit-'0')
		}
	}
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

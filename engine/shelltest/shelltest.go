// Package shelltest runs shellcheck over the scripts that hosts are sent, as
// they are sent: put together from their parts.
package shelltest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// excluded are the rules that do not hold for scripts that are put together.
var excluded = []string{
	"SC2015", // "A && B || refuse" refuses where A or B fails: refuse never returns
	"SC2016", // a quoted script expands where it runs; it is checked as a file
	"SC2030", // a name that is set in a subshell is for that subshell
	"SC2031",
	"SC2034", // a part may set more than this script reads
	"SC2209", // doing=write names a part of the write, not a command
	"SC2317", // a part may define more than this script calls
	"SC2329", // the same, in later versions of shellcheck
	"SC3013", // -ef is not POSIX, but dash, bash and busybox have it
}

// Check reports every finding of shellcheck about a script. It skips the test
// unless HOLDFAST_SHELLCHECK is set: that takes long, and .ci/run has a step for it.
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

// quoteLine returns the line that a finding "-:LINE:COLUMN: …" is about.
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

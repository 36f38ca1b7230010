// Package longtest says how much tests try that could try for ever: random worlds, moments at which something is killed, sizes.
// By default they try enough to notice a mistake within the minute and a half that all tests may take. HOLDFAST_LONG=1 makes them
// try everything; RAPID_CHECKS=2000 beside it does the same for the properties of pgregory.net/rapid.
package longtest

import (
	"flag"
	"os"
)

// On reports whether tests are to try everything.
func On() bool { return os.Getenv("HOLDFAST_LONG") != "" }

// Pick returns how much to try: usual by default, all where tests are to try everything.
func Pick(usual, all int) int {
	if On() {
		return all
	}
	return usual
}

// FewerChecks lowers the number of tries of each property of pgregory.net/rapid from 100, in a package where one takes long.
// RAPID_CHECKS and -rapid.checks count more. It belongs in TestMain.
func FewerChecks(usual string) {
	if !On() && os.Getenv("RAPID_CHECKS") == "" {
		_ = flag.Set("rapid.checks", usual) // a package without properties has no such flag
	}
}

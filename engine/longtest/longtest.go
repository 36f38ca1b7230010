// Package longtest limits the tests that could try cases without end: random worlds, moments at which something is
// killed, sizes. By default they try enough cases to notice a mistake, and all tests take about a minute and a half.
// With HOLDFAST_LONG=1 they try all cases. RAPID_CHECKS=2000 does the same for the properties of pgregory.net/rapid.
package longtest

import (
	"flag"
	"os"
)

// On reports whether tests must try all cases.
func On() bool { return os.Getenv("HOLDFAST_LONG") != "" }

// Pick returns all if tests must try all cases, else usual.
func Pick(usual, all int) int {
	if On() {
		return all
	}
	return usual
}

// FewerChecks sets the number of tries of each property of pgregory.net/rapid, 100 by default, for a package in which a
// try takes long. RAPID_CHECKS and -rapid.checks override it. Call it in TestMain.
func FewerChecks(usual string) {
	if !On() && os.Getenv("RAPID_CHECKS") == "" {
		_ = flag.Set("rapid.checks", usual) // a package without properties has no such flag
	}
}

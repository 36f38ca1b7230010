// Package longtest limits the tests that take long. By default all tests together take about two minutes on two cores.
// With HOLDFAST_SLOW=1, as in CI, the slow tests run, too: they start hundreds of programs and repeat a quicker test for
// other states of a host or moments of a power cut. With HOLDFAST_LONG=1 these run as well, and
// tests that could try cases without end (random worlds, moments at which something is killed, sizes) try all cases.
// RAPID_CHECKS=2000 does the same for the properties of pgregory.net/rapid.
package longtest

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"testing"
)

// On reports whether tests must try all cases.
func On() bool { return os.Getenv("HOLDFAST_LONG") != "" }

// Slow reports whether slow tests must run.
func Slow() bool { return On() || os.Getenv("HOLDFAST_SLOW") != "" }

// SkipSlow skips the test, which is a slow one, unless slow tests must run.
func SkipSlow(t testing.TB) {
	t.Helper()
	if !Slow() {
		t.Skip("slow; HOLDFAST_SLOW=1 runs it")
	}
}

// SkipOthers skips a case of a table by default, unless its name is one of the quick ones. Slow tests run all cases.
func SkipOthers(t testing.TB, name string, quick ...string) {
	t.Helper()
	if !slices.Contains(quick, name) {
		SkipSlow(t)
	}
}

// Choose returns quick by default, slow if slow tests must run, and all if tests must try all cases.
func Choose(quick, slow, all int) int {
	if Slow() {
		return Pick(slow, all)
	}
	return quick
}

// Pick returns all if tests must try all cases, else usual.
func Pick(usual, all int) int {
	if On() {
		return all
	}
	return usual
}

// FewerChecks sets the number of tries of each property of pgregory.net/rapid, 100 by default, for a package in which a
// try takes long: quick by default, and slow if slow tests must run. RAPID_CHECKS and -rapid.checks override it. Call it in
// TestMain.
func FewerChecks(quick, slow int) {
	if !On() && os.Getenv("RAPID_CHECKS") == "" {
		_ = flag.Set("rapid.checks", strconv.Itoa(Choose(quick, slow, slow))) // a package without properties has no such flag
	}
}

// WaitTogether lets up to eight tests of a package run side by side, because they mostly wait. By default there are as many as
// processors. -parallel overrides it. Call it in TestMain.
func WaitTogether() { _ = flag.Set("test.parallel", "8") } // every test binary has the flag

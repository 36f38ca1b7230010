package image

import (
	"fmt"
	"slices"
	"strings"
)

// Suite is the Debian suite that hosts run.
type Suite string

// These are the suites that hosts can run, each with its version of ostree when
// the suite was added.
const (
	Bookworm Suite = "bookworm" // Debian 12, ostree 2022.7
	Trixie   Suite = "trixie"   // Debian 13, ostree 2025.2
	Testing  Suite = "testing"  // ostree 2026.4

	DefaultSuite = Trixie
)

// Suites lists all suites, the oldest first.
func Suites() []Suite { return []Suite{Bookworm, Trixie, Testing} }

// ParseSuite returns the suite of that name.
func ParseSuite(name string) (Suite, error) {
	if slices.Contains(Suites(), Suite(name)) {
		return Suite(name), nil
	}
	var names []string
	for _, s := range Suites() {
		names = append(names, string(s))
	}
	return "", fmt.Errorf("suite must be one of %s, not %q", strings.Join(names, ", "), name)
}

// Ref returns the branch that hosts of the suite follow.
func (s Suite) Ref() string { return "lab/" + string(s) + "/x86_64" }

package image

import (
	"fmt"
	"slices"
	"strings"
)

// Suite is the Debian suite that hosts run, with or without composefs, and with or without the modules and the initramfs
// that a host with a kernel of its own needs.
type Suite string

// These are the suites that hosts can run, each with its version of ostree when
// the suite was added.
const (
	Bookworm Suite = "bookworm" // Debian 12, ostree 2022.7
	Trixie   Suite = "trixie"   // Debian 13, ostree 2025.2
	Testing  Suite = "testing"  // ostree 2026.4

	// TestingComposefs is Testing with composefs, which ostree needs to soft reboot into another deployment.
	TestingComposefs = Testing + composefsSuffix

	// TrixieKernel and TestingComposefsKernel also boot in qemu, with their own kernel.
	TrixieKernel           = Trixie + kernelSuffix
	TestingComposefsKernel = TestingComposefs + kernelSuffix

	DefaultSuite = Trixie
)

const (
	composefsSuffix = "-composefs"
	kernelSuffix    = "-kernel"
)

// Suites lists all suites, the oldest first.
func Suites() []Suite {
	return []Suite{Bookworm, Trixie, Testing, TestingComposefs, TrixieKernel, TestingComposefsKernel}
}

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

// WithComposefs returns the suite with composefs. It fails if the ostree of the suite cannot soft reboot.
func (s Suite) WithComposefs() (Suite, error) {
	if with := s + composefsSuffix; slices.Contains(Suites(), with) {
		return with, nil
	}
	return "", fmt.Errorf("composefs needs the suite %s, not %s", Testing, s)
}

// WithKernel returns the suite with modules, initramfs and kexec-tools, as hosts in qemu need them.
func (s Suite) WithKernel() (Suite, error) {
	if s.HasKernel() {
		return s, nil
	}
	if with := s + kernelSuffix; slices.Contains(Suites(), with) {
		return with, nil
	}
	return "", fmt.Errorf("hosts in qemu need the suite %s or %s, not %s", Trixie, TestingComposefs, s)
}

// HasKernel reports whether hosts of the suite can boot its kernel.
func (s Suite) HasKernel() bool { return strings.HasSuffix(string(s), kernelSuffix) }

func (s Suite) usesComposefs() bool {
	return strings.HasSuffix(strings.TrimSuffix(string(s), kernelSuffix), composefsSuffix)
}

// debian returns the name of the suite in Debian's archive.
func (s Suite) debian() string {
	return strings.TrimSuffix(strings.TrimSuffix(string(s), kernelSuffix), composefsSuffix)
}

// Ref returns the branch that hosts of the suite follow.
func (s Suite) Ref() string { return "lab/" + s.debian() + "/x86_64" }

package image

import "testing"

// TestParseSuite checks that only suites that were tested are accepted.
func TestParseSuite(t *testing.T) {
	for _, s := range Suites() {
		if got, err := ParseSuite(string(s)); err != nil || got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	if _, err := ParseSuite("sid"); err == nil || err.Error() != `suite must be one of bookworm, trixie, testing, testing-composefs, trixie-kernel, testing-composefs-kernel, not "sid"` {
		t.Errorf("error %v", err)
	}
	if got, err := Testing.WithComposefs(); err != nil || got != TestingComposefs || got.Ref() != Testing.Ref() {
		t.Errorf("testing with composefs is %s (%v), branch %s", got, err, got.Ref())
	}
	if _, err := Trixie.WithComposefs(); err == nil || err.Error() != "composefs needs the suite testing, not trixie" {
		t.Errorf("error %v", err)
	}
	for suite, want := range map[Suite]Suite{Trixie: TrixieKernel, TrixieKernel: TrixieKernel, TestingComposefs: TestingComposefsKernel} {
		if got, err := suite.WithKernel(); err != nil || got != want || got.Ref() != suite.Ref() || got.usesComposefs() != suite.usesComposefs() {
			t.Errorf("%s with a kernel is %s (%v)", suite, got, err)
		}
	}
	if _, err := Bookworm.WithKernel(); err == nil || err.Error() != "hosts in qemu need the suite trixie or testing-composefs, not bookworm" {
		t.Errorf("error %v", err)
	}
	if Trixie.Ref() != "lab/trixie/x86_64" {
		t.Errorf("hosts of earlier labs follow another branch than %s", Trixie.Ref())
	}
}

package image

import "testing"

// TestParseSuite checks that only suites that were tested are accepted.
func TestParseSuite(t *testing.T) {
	for _, s := range Suites() {
		if got, err := ParseSuite(string(s)); err != nil || got != s {
			t.Errorf("%s: %s, %v", s, got, err)
		}
	}
	if _, err := ParseSuite("sid"); err == nil || err.Error() != `suite must be one of bookworm, trixie, testing, not "sid"` {
		t.Errorf("error %v", err)
	}
	if Trixie.Ref() != "lab/trixie/x86_64" {
		t.Errorf("hosts of earlier labs follow another branch than %s", Trixie.Ref())
	}
}

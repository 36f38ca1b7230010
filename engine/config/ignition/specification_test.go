package ignition

import (
	"errors"
	"fmt"
	"testing"

	library "github.com/coreos/ignition/v2/config"
	shared "github.com/coreos/ignition/v2/config/shared/errors"
)

// If this test fails after an update of the library, it reads a new stable
// version: add it to specifications.
func TestSpecificationsOfTheLibrary(t *testing.T) {
	for minor := range 30 {
		version := fmt.Sprintf("3.%d.0", minor)
		_, _, err := library.Parse(fmt.Appendf(nil, `{"ignition":{"version":%q}}`, version))
		if reads := !errors.Is(err, shared.ErrUnknownVersion); reads != (Shape(version) != nil) {
			t.Errorf("version %s: the library reads it: %t (%v); specifications has it: %t", version, reads, err, !reads)
		}
	}
}

func TestExplainVersion(t *testing.T) {
	for version, want := range map[string]string{
		"3.7.0":              "is newer than the versions that this holdfast knows, 3.0.0 to 3.6.0; use one of them, or a newer holdfast",
		"4.0.0":              "is newer than the versions that this holdfast knows, 3.0.0 to 3.6.0; use one of them, or a newer holdfast",
		"3.7.0-experimental": "is experimental and may change its meaning; use a stable version, 3.0.0 to 3.6.0",
		"3.4.7":              "is not a supported version; use 3.0.0 to 3.6.0 (2.0.0 to 2.3.0 are converted)",
		"x":                  "is not a supported version; use 3.0.0 to 3.6.0 (2.0.0 to 2.3.0 are converted)",
	} {
		if got := ExplainVersion(version); got != want {
			t.Errorf("%s: %s", version, got)
		}
	}
}

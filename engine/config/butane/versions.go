package butane

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/go-semver/semver"
	"github.com/coreos/ignition/v2/butane/base/util"
	"github.com/coreos/ignition/v2/butane/config"
	"github.com/coreos/ignition/v2/butane/config/common"
)

// variants lists the variants of Butane. The library cannot list them; a test
// compares them with its source.
var variants = []string{"fcos", "openshift", "flatcar", "r4e", "fiot"}

// explainUnknown returns the problem of a document whose variant and version
// the library does not know.
func explainUnknown(variant string, version semver.Version) Finding {
	if !slices.Contains(variants, variant) {
		return Finding{Path: []any{"variant"}, Advice: "is not a variant of Butane; use one of " + strings.Join(variants, ", ")}
	}
	oldest, latest := stableVersions(variant)
	known := fmt.Sprintf("%s to %s", oldest, latest)
	f := Finding{Path: []any{"version"}, Advice: "is not a version of this variant; use " + known}
	if latest.LessThan(version) {
		f.Advice = "is newer than the versions of this variant that this holdfast knows, " + known + "; use one of them, or a newer holdfast"
	}
	return f
}

// Versions of the specifications are looked for below these numbers.
const majors, minors = 6, 64

// stableVersions returns the oldest and the latest version of a variant that
// the library translates. The library can only be asked for one version at a
// time.
func stableVersions(variant string) (oldest, latest *semver.Version) {
	for i := range majors * minors {
		v := semver.Version{Major: int64(i / minors), Minor: int64(i % minors)}
		if !canTranslate(variant, v) {
			continue
		}
		if oldest == nil {
			oldest = &v
		}
		latest = &v
	}
	return oldest, latest
}

func canTranslate(variant string, v semver.Version) bool {
	_, _, err := config.TranslateBytes(fmt.Appendf(nil, "variant: %s\nversion: %s\n", variant, v), common.TranslateBytesOptions{})
	unknown := common.ErrUnknownVersion{}
	return !errors.As(err, &unknown)
}

// LooksOctal reports whether a mode makes sense only if its decimal digits are
// read as octal ones.
func LooksOctal(mode int, directory bool) bool {
	return util.CheckForDecimalMode(mode, directory) != nil
}

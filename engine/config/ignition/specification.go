package ignition

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/coreos/go-semver/semver"
	types30 "github.com/coreos/ignition/v2/config/v3_0/types"
	types31 "github.com/coreos/ignition/v2/config/v3_1/types"
	types32 "github.com/coreos/ignition/v2/config/v3_2/types"
	types33 "github.com/coreos/ignition/v2/config/v3_3/types"
	types34 "github.com/coreos/ignition/v2/config/v3_4/types"
	types35 "github.com/coreos/ignition/v2/config/v3_5/types"
	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// specification is one stable version of Ignition's specification.
type specification struct {
	version string
	shape   reflect.Type // its fields
}

// specifications lists all stable versions, oldest first. A test compares them
// with the versions that the library reads.
var specifications = []specification{
	{"3.0.0", reflect.TypeFor[types30.Config]()},
	{"3.1.0", reflect.TypeFor[types31.Config]()},
	{"3.2.0", reflect.TypeFor[types32.Config]()},
	{"3.3.0", reflect.TypeFor[types33.Config]()},
	{"3.4.0", reflect.TypeFor[types34.Config]()},
	{"3.5.0", reflect.TypeFor[types35.Config]()},
	{LatestVersion, reflect.TypeFor[types.Config]()},
}

// LatestVersion is the version to which all configs are translated.
const LatestVersion = "3.6.0"

// Indexes of specifications.
const (
	// firstRendered is 3.1.0, because all versions of Ignition 2 read it.
	firstRendered = 1
	// firstSpecialModes is 3.6.0. Ignition ignores setuid, setgid and sticky bits
	// of older configs.
	firstSpecialModes = 6
)

// Shape returns the fields of a version, or nil for versions that are not known.
func Shape(version string) reflect.Type {
	if i := indexOf(version); i >= 0 {
		return specifications[i].shape
	}
	return nil
}

func indexOf(version string) int {
	return slices.IndexFunc(specifications, func(s specification) bool { return s.version == version })
}

// ExplainVersion returns the problem of a version that Shape does not know.
func ExplainVersion(version string) string {
	known := fmt.Sprintf("%s to %s", specifications[0].version, LatestVersion)
	v, err := semver.NewVersion(version)
	latest := semver.New(LatestVersion)
	switch {
	case err == nil && v.PreRelease != "":
		return "is experimental and may change its meaning; use a stable version, " + known
	case err == nil && latest.LessThan(*v):
		return "is newer than the versions that this holdfast knows, " + known + "; use one of them, or a newer holdfast"
	}
	return "is not a supported version; use " + known + " (2.0.0 to 2.3.0 are converted)"
}

// hasSpecialBits reports whether a mode has setuid, setgid or sticky bits.
func hasSpecialBits(mode *int) bool { return mode != nil && *mode&0o7000 != 0 }

// specialBitsWork reports whether Ignition applies special bits of configs of
// this version.
func specialBitsWork(version string) bool { return indexOf(version) >= firstSpecialModes }

// oldestRendered returns the index of the oldest version in which Ignition may
// apply the config: it accepts special bits in all versions, and ignores them in
// older ones.
func oldestRendered(c types.Config) int {
	special := slices.ContainsFunc(c.Storage.Files, func(f types.File) bool { return hasSpecialBits(f.Mode) }) ||
		slices.ContainsFunc(c.Storage.Directories, func(d types.Directory) bool { return hasSpecialBits(d.Mode) })
	if special {
		return firstSpecialModes
	}
	return firstRendered
}

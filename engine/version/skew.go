// Package version compares the versions of operating systems and of the software on them.
package version

import (
	"math"
	"regexp"
	"strconv"
)

var (
	versionLike = regexp.MustCompile(`([0-9]+)\.([0-9]+)`)
	coreOSLabel = regexp.MustCompile(`^([0-9])([0-9]{1,2})\.[0-9]{1,2}\.[0-9]{12}\b`)
)

// maxMinor is the largest number that counts as a minor version. Larger numbers
// are dates.
const maxMinor = 99_999

// Skew returns how many minor versions two versions are apart: 2 for "4.18.3"
// and "v4.20". For different major versions it returns math.MaxInt, because
// nobody knows how many minor versions lie between. ok is false if one of the
// versions contains no minor version.
//
// The first N.N in a text counts, in labels of an OS and in outputs of commands:
// "Kubernetes v1.31.4+k3s1" is 1.31. Some labels of an OS contain another version
// than the version for max_skew:
//
//   - RHCOS up to OpenShift 4.18 has "418.94.202501221327-0", which is OpenShift
//     4.18 on RHEL 9.4, and counts as 4.18. OKD has "418.9.…". (The manifests
//     of openshift/os that build 418.94.DATE set the version 4.18 in
//     os-release; the FAQ of openshift/os explains the 94.)
//   - RHCOS from 4.19 on has "9.6.20250523-0", which is RHEL 9.6 and not
//     OpenShift: 4.19 and 4.20 can have the same label, and 4.18 seems to have
//     another major version.
//   - Fedora CoreOS has "41.20250215.3.0", where a date follows the version of
//     Fedora. The date is not a minor version.
//   - Flatcar has "4081.2.1": another major version with every new branch.
//
// For the last three, the inventory has to name the version of the OS, or a
// version command that prints it.
func Skew(a, b string) (minors int, ok bool) {
	x, okX := minorVersion(a)
	y, okY := minorVersion(b)
	switch {
	case !okX || !okY:
		return 0, false
	case x.major != y.major:
		return math.MaxInt, true
	}
	return max(x.minor-y.minor, y.minor-x.minor), true
}

type majorMinor struct{ major, minor int }

func minorVersion(text string) (v majorMinor, ok bool) {
	at := versionLike.FindStringSubmatchIndex(text)
	if at == nil {
		return v, false
	}
	if label := coreOSLabel.FindStringSubmatch(text[at[0]:]); label != nil {
		return newVersion(label[1], label[2])
	}
	return newVersion(text[at[2]:at[3]], text[at[4]:at[5]])
}

func newVersion(major, minor string) (v majorMinor, ok bool) {
	var errMajor, errMinor error
	v.major, errMajor = strconv.Atoi(major)
	v.minor, errMinor = strconv.Atoi(minor)
	return v, errMajor == nil && errMinor == nil && v.minor <= maxMinor
}

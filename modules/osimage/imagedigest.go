package osimage

import (
	"strings"

	"holdfast/modules/shell"
)

// pinnedDigest returns the digest that identifies the OS of a deployment from an image: the digest in its reference, or
// own, the digest of its manifest, if the reference has none. They differ if the reference pins an index: the tools choose the
// manifest for the platform of the host, and keep the digest of the index only in the reference. If the manifest itself is
// wanted, it is own.
func pinnedDigest(reference, own, wanted string) string {
	pinned := reference[strings.LastIndex(reference, "@")+1:]
	sum, ok := strings.CutPrefix(pinned, "sha256:")
	if own == wanted || !ok || !shell.IsHexadecimal(sum, 64) {
		return own
	}
	return pinned
}

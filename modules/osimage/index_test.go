package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
)

// TestAnIndexPinsTheImageOfEachPlatform: the tools keep the digest of the manifest that they have chosen from an index, and the
// digest of the index only in the reference. The index is the OS all the same, and so is that manifest if the inventory pins it.
func TestAnIndexPinsTheImageOfEachPlatform(t *testing.T) {
	onSites(t, []string{"bootc index", "rpm-ostree index", "rpm-ostree signed index, layered"}, func(b *osHost, s site, d engine.Desired) {
		old := engine.Desired{OS: &engine.OS{Driver: d.OS.Driver, Image: image1}}
		if changes, err := findChanges(old, b.gatherFacts(old)); err != nil || len(changes) > 0 {
			b.T.Fatalf("it runs the index already, and would change: %+v, %v", changes, err)
		}
		platform := engine.Desired{OS: &engine.OS{Driver: d.OS.Driver, Image: "quay.io/acme/os@sha256:" + strings.Repeat("d", 64)}}
		script := b.steps(d).Stage[0].Do.Exec.Script.String()
		b.Want(b.Run(script), 0, "staged and locked: "+d.OS.Digest())
		b.Want(b.Run(script), 0, "staged and locked: "+d.OS.Digest())
		if strings.Count(b.Log(), "systemd-run") != 1 || !b.isReady(d) || !b.isReady(platform) {
			b.T.Fatalf("it is not staged, or was staged again:\n%s", b.Log())
		}
		b.Hold(engine.RunHold, "r1")
		b.Want(b.finalize(d), 0, "rebooting into "+d.OS.Digest())
		b.simulateBoot()
		for _, desired := range []engine.Desired{d, platform} {
			if changes, err := findChanges(desired, b.gatherFacts(desired)); err != nil || len(changes) > 0 {
				b.T.Errorf("%s: %+v, %v", desired.OS.Image, changes, err)
			}
		}
	})
}

// TestPinnedDigest has references in which no digest pins an image.
func TestPinnedDigest(t *testing.T) {
	const own, index = "sha256:cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc", "sha256:dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
	for reference, want := range map[string]string{
		"quay.io/acme/os@" + index: index, "ostree-unverified-registry:quay.io/acme/os:1@" + index: index,
		"ostree-image-signed:docker://quay.io/acme/os@" + index: index, "quay.io/acme/os@" + own: own,
		"quay.io/acme/os:latest": own, "": own, "quay.io/acme/os@sha256:1": own, "containers-storage:[overlay@/x]y": own,
	} {
		if got := pinnedDigest(reference, own, ""); got != want {
			t.Errorf("%q: %s", reference, got)
		}
		if got := pinnedDigest(reference, own, own); got != own {
			t.Errorf("%q, desired is its own: %s", reference, got)
		}
	}
}

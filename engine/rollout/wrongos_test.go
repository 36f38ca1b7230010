package rollout

import (
	"strings"
	"testing"

	"holdfast/engine"
)

// TestWrongOSOfAnImage checks that the message distinguishes two images when a
// host boots the wrong image.
func TestWrongOSOfAnImage(t *testing.T) {
	old, planned := "sha256:"+strings.Repeat("a1", 32), "sha256:"+strings.Repeat("a2", 32)
	err := wrongOS(engine.Facts{Deployments: []engine.Deployment{{Digest: old, Version: "41", Booted: true}}}, planned)
	if err == nil || !strings.Contains(err.Error(), "it came back with 41 (sha256:a1a1a1a1a1a1), not with the planned sha256:a2a2a2a2a2a2") {
		t.Error(err)
	}
}

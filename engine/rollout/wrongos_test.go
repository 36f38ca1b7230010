package rollout

import (
	"errors"
	"strings"
	"testing"

	"holdfast/engine"
)

// TestWrongOSOfAnImage checks that the message distinguishes two images when a
// host boots the wrong image.
func TestWrongOSOfAnImage(t *testing.T) {
	old, planned := "sha256:"+strings.Repeat("a1", 32), "sha256:"+strings.Repeat("a2", 32)
	err := wrongOS(engine.Facts{Deployments: []engine.Deployment{{Digest: old, Version: "41", Booted: true}}}, engine.AwaitBoot{Digest: planned})
	if err == nil || !strings.Contains(err.Error(), "it came back with 41 (sha256:a1a1a1a1a1a1), not with the planned sha256:a2a2a2a2a2a2") {
		t.Error(err)
	}
}

// A host that came back with its old OS is rebooted again only if nothing shows that this
// would end in the same way. A power cut before its OS was exchanged shows nothing.
func TestWrongOSAfterAPowerCut(t *testing.T) {
	booted := engine.Deployment{Digest: "old", Booted: true}
	kept := engine.AwaitBoot{Digest: "new", Kept: true}
	for name, c := range map[string]struct {
		facts     engine.Facts
		want      engine.AwaitBoot
		notBooted string
		hint      string
	}{
		"the power was cut":               {engine.Facts{Deployments: []engine.Deployment{booted}}, engine.AwaitBoot{Digest: "new"}, "", "the next run tries again"},
		"the OS tool failed":              {engine.Facts{Deployments: []engine.Deployment{booted}, FinalizeProblem: "No space left"}, engine.AwaitBoot{Digest: "new"}, "new", "no run reboots it"},
		"its boot fell back":              {engine.Facts{Deployments: []engine.Deployment{{Digest: "new"}, booted}}, engine.AwaitBoot{Digest: "new"}, "new", "no run reboots it"},
		"it was rolled back":              {engine.Facts{Deployments: []engine.Deployment{booted, {Digest: "new"}}}, engine.AwaitBoot{Digest: "new"}, "new", "no run reboots it"},
		"an older OS is present":          {engine.Facts{Deployments: []engine.Deployment{booted, {Digest: "older"}}}, engine.AwaitBoot{Digest: "new"}, "", "the next run tries again"},
		"the power was cut before a kept": {engine.Facts{Deployments: []engine.Deployment{booted, {Digest: "new"}}}, kept, "", "or another deployment is the default of its boot loader"},
		"it soft rebooted into its old root": {
			engine.Facts{BootID: "b+1", Deployments: []engine.Deployment{{Digest: "new"}, booted}},
			engine.AwaitBoot{BootID: "b", Digest: "new", Kind: engine.SoftReboot},
			"", "into its old root",
		},
		"a full boot in place of a soft one fell back": {
			engine.Facts{BootID: "c", Deployments: []engine.Deployment{{Digest: "new"}, booted}},
			engine.AwaitBoot{BootID: "b", Digest: "new", Kind: engine.SoftReboot},
			"new", "no run reboots it",
		},
		"it could not be finalized before a soft reboot": {
			engine.Facts{BootID: "b+1", Deployments: []engine.Deployment{booted}, FinalizeProblem: "No space left"},
			engine.AwaitBoot{BootID: "b", Digest: "new", Kind: engine.SoftReboot},
			"new", "no run reboots it",
		},
		"its boot fell back from a kept": {engine.Facts{Deployments: []engine.Deployment{{Digest: "new"}, booted}}, kept, "new", "no run reboots it"},
	} {
		var failure *engine.Failure
		if err := wrongOS(c.facts, c.want); !errors.As(err, &failure) || failure.NotBooted != c.notBooted || !strings.Contains(failure.Hint, c.hint) {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

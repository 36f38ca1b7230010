package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

func TestADetailOfADeploymentIsNotADeployment(t *testing.T) {
	text := "* lab " + moduletest.V1 + ".0\n    Version: * lab " + moduletest.V2 + ".0 (staged)\n    origin refspec: (finalization locked)\n    `- lab " + moduletest.V2 + ".0 (staged)\n"
	got, err := statusText(text)
	if err != nil || len(got) != 1 || got[0].Staged || got[0].Origin != "(finalization locked)" {
		t.Errorf("read %+v", got)
	}
}

// A start of ostree is the most expensive part of a probe, so the probe asks only for the
// status that this version has.
func TestOSTreeIsAskedOnlyWhatItKnows(t *testing.T) {
	for version, want := range map[string]string{
		"2022.7": "--version, admin status", "2025.2": "--version, admin status", "2025.10": "--version, admin status --json, admin status",
		"2025.3": "--version, admin status --json, admin status", "2026.1": "--version, admin status --json, admin status",
		"2026.2": "--version, admin status --json", "devel": "--version, admin status",
	} {
		b := newOSHost(t)
		b.Write("ostree-version", version)
		f := b.gatherFacts(engine.Desired{OS: &engine.OS{Driver: "ostree"}})
		if len(f.Deployments) != 1 || f.Deployments[0].Origin != "lab:lab/stable" || f.Deployments[0].Version != "1.0" || len(f.Problems) > 0 {
			t.Errorf("ostree %s: %+v, problems %q", version, f.Deployments, f.Problems)
		}
		var calls []string
		for line := range strings.Lines(b.Log()) {
			if call, ok := strings.CutPrefix(strings.TrimSpace(line), "ostree "); ok {
				calls = append(calls, call)
			}
		}
		if got := strings.Join(calls, ", "); got != want {
			t.Errorf("ostree %s: %s; want %s", version, got, want)
		}
		if strings.Contains(b.Log(), "is-failed") {
			t.Errorf("the probe asks again for a unit that is not listed:\n%s", b.Log())
		}
	}
}

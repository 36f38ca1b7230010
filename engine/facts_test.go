package engine_test

import (
	"testing"

	"holdfast/engine"
)

func TestDeployments(t *testing.T) {
	var none engine.Facts
	if none.Booted() != nil || none.Staged() != nil || none.Ready("", "") || !none.Reached() {
		t.Errorf("facts about nothing: %+v", none)
	}
	f := engine.Facts{Deployments: []engine.Deployment{{Digest: "new", Staged: true, Locked: true}, {Digest: "old", Booted: true}, {Digest: "older", Rollback: true}}}
	if f.Booted().Digest != "old" || f.Staged().Digest != "new" {
		t.Errorf("booted %+v, staged %+v", f.Booted(), f.Staged())
	}
	if !f.Ready("new", "") || f.Ready("old", "") || f.Ready("", "") {
		t.Error("only the staged digest is ready")
	}
	f.Deployments[0].Locked = false
	if f.Ready("new", "") {
		t.Error("what a reboot would boot unasked is not ready")
	}
	if (engine.Facts{Unreachable: "refused"}).Reached() {
		t.Error("an unreachable host is reached")
	}
}

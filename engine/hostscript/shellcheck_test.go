package hostscript_test

import (
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/resource"
	"holdfast/engine/shelltest"
)

func TestShellcheck(t *testing.T) {
	owner := engine.HoldOwner{Run: "r1", Bastion: "b1"}
	hold := engine.Hold{Kind: engine.RunHold, Holder: "ann@bastion", Run: "r1", Bastion: "b1", Reason: "a test", Units: []string{"app.service"}}
	maintenance := engine.Hold{Kind: engine.MaintenanceHold, Holder: "ann@bastion", Reason: "a test"}
	roll := &engine.Rollout{Run: "r1", Number: 1, Targets: map[string]string{"w": "abc"}}
	for name, script := range map[string]string{
		"take":        hostscript.HoldScript(hold, engine.Duration(time.Hour), "", roll),
		"adopt":       hostscript.HoldScript(hold, engine.Duration(time.Hour), "r0", nil),
		"maintenance": hostscript.HoldScript(maintenance, engine.Duration(time.Hour), "", nil),
		"extend":      hostscript.TakeHoldScript(maintenance, engine.TakeHold{For: engine.Duration(time.Hour), Digest: resource.Digest([]byte("held by ann@bastion"))}, time.Time{}),
		"fail":        hostscript.FailHoldScript(owner, "a test", "finalize", ""),
		"release":     hostscript.ReleaseScript(owner, engine.Release{}),
		"updated":     hostscript.ReleaseScript(owner, engine.Release{Updated: true, Accepts: "abc", BootID: "b"}),
		"end":         hostscript.EndHoldScript(resource.Digest([]byte("held by ann@bastion")), false),
		"accept":      hostscript.AcceptScript(),
		"look":        hostscript.HoldProbeScript(),
		"check":       hostscript.CheckHoldScript(owner),
		"free":        "set -e\n" + hostscript.CheckFreeSnippet(owner, engine.HoldOwner{}).String(),
		"survivors":   hostscript.RestartSurvivorsScript(owner, engine.RestartSurvivors{Units: []string{"etcd.service"}, Always: true}),
		"stop":        hostscript.RestartSurvivorsScript(owner, engine.RestartSurvivors{Units: []string{"app.service"}, Stop: true}),
		"pace":        hostscript.PaceScript(1, hostscript.Speed{}, hostscript.Speed{}),
		"probe":       hostscript.ProbeScript([]engine.Command{{Name: "a", Script: "uptime"}, {Name: "b", Script: "uname -r"}}, "mark"),
	} {
		t.Run(name, func(t *testing.T) { shelltest.Check(t, name, script) })
	}
}

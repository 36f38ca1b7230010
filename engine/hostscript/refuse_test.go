package hostscript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
)

// refusals returns the drop-ins that refuse reboots.
func (b *box) refusals() []string {
	b.t.Helper()
	list, err := filepath.Glob(b.root + "/run/systemd/system/*.d/*.conf")
	check(b.t, err)
	return list
}

// TestRebootsAreRefusedWhileAPersonHoldsAHost: the hold of a person refuses them with its reason, the hold of a run does not. A release
// ends the refusal, also one that was left behind, and so does the next hold of a run.
func TestRebootsAreRefusedWhileAPersonHoldsAHost(t *testing.T) {
	b := newBox(t)
	hold := engine.Hold{Kind: engine.MaintenanceHold, Run: "m1", Holder: "ann@b", Reason: "100% \\ $HOME `id`\n[Service]\nExecStart=/bin/evil"}
	take := hostscript.HoldScript(hold, hour, "", nil)
	for range 2 { // the second extends it
		b.mustRun(take)
		list := b.refusals()
		if len(list) != 10 {
			t.Fatalf("%q", list)
		}
		for _, f := range list {
			text, err := os.ReadFile(f)
			check(t, err)
			lines := strings.Split(strings.TrimSpace(string(text)), "\n")
			if len(lines) != 3 || lines[0] != "[Unit]" || !strings.HasPrefix(lines[1], `Description=holdfast: this host is held by ann@b for "100%% `) || strings.Contains(lines[1], `\`) || lines[2] != "RefuseManualStart=yes" {
				t.Fatalf("%s: %q", f, lines)
			}
		}
	}
	if log := b.log(); !strings.Contains(log, `--setenv=reason=holdfast: this host is held by ann@b for "100% `) || !strings.Contains(log, "--why=${reason} sh -c while") {
		t.Errorf("%s", log)
	}
	if h := b.hold(); h.Boot == "" {
		t.Errorf("%+v", h)
	}
	others := b.root + "/run/systemd/system/reboot.target.d/somebody.conf"
	check(t, os.WriteFile(others, nil, 0o644))
	b.mustRun(hostscript.ReleaseScript(ownerOf("m1"), engine.Release{}))
	if list := b.refusals(); len(list) != 1 || list[0] != others {
		t.Errorf("%q", list)
	}
	check(t, os.Remove(others))

	b.mustRun(take)
	check(t, os.Remove(b.root+engine.HoldPath)) // somebody ends it by hand
	b.mustRun(hostscript.HoldScript(runHold("r1"), hour, "", nil))
	if list := b.refusals(); len(list) > 0 || b.hold().Boot != "" {
		t.Errorf("%q, %+v", list, b.hold())
	}
}

// TestABrokenSystemdStillHolds: a host whose systemd does not take the drop-ins is held, and the person is told.
func TestABrokenSystemdStillHolds(t *testing.T) {
	b := newBox(t)
	b.tool("systemctl", "#!/bin/sh\ncase $1 in cat | is-active | daemon-reload) exit 1 ;; esac\n")
	_, errs, code := b.run(hostscript.HoldScript(engine.Hold{Kind: engine.MaintenanceHold, Run: "m1"}, hour, "", nil))
	if code != 0 || b.hold() == nil || !strings.Contains(errs, "hold: the host does not refuse reboots") {
		t.Errorf("%d, %s", code, errs)
	}
}

// TestAShutdownNeedsTheHold: the script shuts a host down only under the hold that it names.
func TestAShutdownNeedsTheHold(t *testing.T) {
	b := newBox(t)
	b.mustRun(hostscript.HoldScript(engine.Hold{Kind: engine.MaintenanceHold, Run: "m1", Bastion: "b"}, hour, "", nil))
	const order = "SuccessAction=poweroff"
	b.mustBeRefused(hostscript.ShutDownScript(engine.HoldOwner{Run: "m2", Bastion: "b"}))
	if strings.Contains(b.log(), order) {
		t.Fatal("a host is shut down under the hold of somebody else")
	}
	b.mustRun(hostscript.ShutDownScript(engine.HoldOwner{Run: "m1", Bastion: "b"}))
	if !strings.Contains(b.log(), order) {
		t.Error("the host is not shut down")
	}
}

package hoststate

import (
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// gatherUnits gathers the facts of a host whose systemctl list-units prints text. Services
// have the states of their unit files in states.
func gatherUnits(t *testing.T, text string, states map[string]string) (engine.Facts, *moduletest.Box) {
	t.Helper()
	b := moduletest.NewBox(t)
	b.Write("listed-units", strings.TrimSuffix(text, "\n"))
	for name, state := range states {
		b.Write("unit-files/"+name, state)
	}
	return b.ReadFacts(engine.Desired{}, Module()), b
}

// A unit keeps its whole name, with any first character. The mark of a failed
// unit is a separate column.
func TestUnitNamesAreRead(t *testing.T) {
	f, _ := gatherUnits(t, "xinetd.service loaded failed failed Internet superserver\n"+
		"● failed.service loaded failed failed A unit\n"+
		"* star.service loaded failed failed A unit\n"+
		"x x11.service loaded failed failed A unit\n"+
		"× xrdp.service not-found failed failed A unit\n"+
		"  xen-watchdog@a.service loaded failed failed Spaces first\n"+
		`dev-disk-by\x2dlabel-a.device loaded activating tentative start a.device`+"\n"+
		"-.mount loaded active mounted Root Mount\n"+
		`srv-a\x2db.mount loaded failed failed /srv/a-b`+"\n"+
		"user@1000.service loaded failed failed *\n"+
		"\n"+
		"no unit at all.\n", nil)
	want := []string{"xinetd.service", "failed.service", "star.service", "x11.service", "xrdp.service", "xen-watchdog@a.service", `srv-a\x2db.mount`, "user@1000.service"}
	if !slices.Equal(f.Failed, want) || len(f.Running) > 0 || f.Stopping || len(f.Problems) > 0 {
		t.Errorf("read %q, want %q; running %q, stopping %t, problems %q", f.Failed, want, f.Running, f.Stopping, f.Problems)
	}
}

const runningUnits = "etcd.service loaded active running etcd\n" +
	"serial-getty@ttyS0.service loaded active running Serial Getty on ttyS0\n" +
	"dbus.service loaded active running D-Bus\n" +
	"gone.service not-found active running gone.service\n" +
	"once.service loaded active exited Once\n" +
	"xinetd.service loaded active running Internet superserver\n" +
	"user@1000.service loaded active running User Manager for UID 1000\n" +
	"session-1.scope loaded active running Session 1 of user core\n" +
	"dbus.socket loaded active running D-Bus socket\n"

// The probe queries only running services, because listing all units takes longer
// than all other probes. The facts have only those that are enabled.
func TestServicesThatRunAfterAReboot(t *testing.T) {
	for _, version := range []string{"257", "252"} {
		states := map[string]string{"etcd.service": "enabled", "serial-getty@ttyS0.service": "enabled-runtime", "dbus.service": "static", "once.service": "enabled", "xinetd.service": "enabled"}
		b := moduletest.NewBox(t)
		b.Write("listed-units", runningUnits)
		b.Write("systemd-version", version)
		for name, state := range states {
			b.Write("unit-files/"+name, state)
		}
		f := b.ReadFacts(engine.Desired{}, Module())
		want := []string{"etcd.service", "serial-getty@ttyS0.service", "xinetd.service"}
		if !slices.Equal(f.Running, want) || !slices.Equal(f.Etcd, []string{"etcd.service runs"}) || len(f.Failed) > 0 {
			t.Errorf("systemd %s: running %q, want %q; etcd %q, failed %q", version, f.Running, want, f.Etcd, f.Failed)
		}
		if calls := strings.Count(b.Log(), "systemctl "); version == "257" && calls != 3 { // once for the boot
			t.Errorf("systemd is asked %d times:\n%s", calls, b.Log())
		}
	}
}

// A shutdown counts from its order on, when its target is still inactive.
func TestAShutdownIsSeen(t *testing.T) {
	for text, want := range map[string]bool{
		"shutdown.target loaded inactive dead start System Shutdown\n":      true,
		"shutdown.target loaded active active System Shutdown\n":            true,
		"holdfast-reboot.service loaded activating start reboot\n":          true,
		"holdfast-reboot.service loaded active running reboot\n":            true,
		"holdfast-reboot.service loaded failed failed reboot\n":             false,
		"holdfast-stage.service loaded active running stage\n":              false,
		"a.service loaded active running shutdown.target loaded active a\n": false,
	} {
		f, _ := gatherUnits(t, text, nil)
		if f.Stopping != want {
			t.Errorf("%q: stopping %t, want %t", text, f.Stopping, want)
		}
		if staging := strings.HasPrefix(text, "holdfast-stage"); f.IsStaging() != staging {
			t.Errorf("%q: stage unit %q", text, f.StageUnit)
		}
	}
}

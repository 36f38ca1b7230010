package hoststate

import (
	"slices"
	"testing"

	"holdfast/engine"
)

// A unit keeps its whole name, with any first character. The mark of a failed
// unit is a separate column.
func TestUnitNamesAreRead(t *testing.T) {
	text := "xinetd.service loaded active running Internet superserver\n" +
		"● failed.service loaded failed failed A unit\n" +
		"* star.service loaded failed failed A unit\n" +
		"x x11.service loaded failed failed A unit\n" +
		"× xrdp.service loaded failed failed A unit\n" +
		"  xen-watchdog@a.service loaded active running Spaces first\n" +
		"\n" +
		"no unit at all.\n"
	want := []string{"xinetd.service", "failed.service", "star.service", "x11.service", "xrdp.service", "xen-watchdog@a.service"}
	if got := unitNames(text); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestAServiceThatBeginsWithXIsWaitedFor(t *testing.T) {
	f := observer{}.Read(engine.Desired{}, engine.Outputs{
		"services": {Stdout: "Id=xinetd.service\nSubState=running\nUnitFileState=enabled\n"},
	}, engine.Facts{})
	if !slices.Equal(f.Running, []string{"xinetd.service"}) {
		t.Errorf("running: %q", f.Running)
	}
}

// The probe queries only running services, because listing all units takes longer
// than all other probes. The facts have only those that are enabled.
func TestServicesThatRunAfterAReboot(t *testing.T) {
	text := "Id=etcd.service\nSubState=running\nUnitFileState=enabled\n" +
		"\nId=serial-getty@ttyS0.service\nSubState=running\nUnitFileState=enabled-runtime\n" +
		"\nId=dbus.service\nSubState=running\nUnitFileState=static\n" +
		"\nId=crashed.service\nSubState=dead\nUnitFileState=enabled\n" +
		"\nId=user@1000.service\nSubState=running\nUnitFileState=enabled\n" +
		"\nVersion=257\nSystemState=running\n"
	want := []string{"etcd.service", "serial-getty@ttyS0.service"}
	if got := enabledServices(text); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

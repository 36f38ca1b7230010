package modules

import (
	"slices"
	"testing"

	"holdfast/engine"
)

// A unit keeps its whole name, whatever it begins with; the mark of a failed
// unit is a column of its own.
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
	f := system{}.Read(engine.Desired{}, engine.Outputs{
		"running services": {Stdout: "xinetd.service loaded active running x\n"},
		"enabled services": {Stdout: "xinetd.service enabled enabled\n"},
	}, engine.Facts{})
	if !slices.Equal(f.Running, []string{"xinetd.service"}) {
		t.Errorf("running: %q", f.Running)
	}
}

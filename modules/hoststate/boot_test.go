package hoststate

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/resource"
	"holdfast/modules/moduletest"
)

// A soft reboot is another boot, although the kernel and its boot ID stay. A boot that is not
// known is no boot at all, so it never looks like another one.
func TestTheBootOfAHost(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*moduletest.Box)
		want    resource.BootID
		problem string
	}{
		"no soft reboot":    {func(*moduletest.Box) {}, moduletest.Boot, ""},
		"two soft reboots":  {func(b *moduletest.Box) { b.Write("soft-reboots", "2") }, moduletest.Boot + "+2", ""},
		"does not count":    {func(b *moduletest.Box) { b.Write("systemd-version", "252"); b.Write("soft-reboots", "2") }, moduletest.Boot, ""},
		"no answer":         {func(b *moduletest.Box) { b.Write("fail-show", "Failed to connect to bus: Host is down") }, "", "boot: exit status 1: Failed to connect to bus: Host is down"},
		"no boot ID":        {func(b *moduletest.Box) { b.Remove("proc/sys/kernel/random/boot_id") }, "", "boot: exit status 1"},
		"no ID of a kernel": {func(b *moduletest.Box) { b.Write("proc/sys/kernel/random/boot_id", strings.Repeat("x", 9999)) }, "", `boot: "xxx`},
		"no number":         {func(b *moduletest.Box) { b.Write("soft-reboots", "many") }, moduletest.Boot, ""},
		"a huge number":     {func(b *moduletest.Box) { b.Write("soft-reboots", "99999999999999") }, "", "boot: \""},
	} {
		b := moduletest.NewBox(t)
		c.prepare(b)
		f := b.ReadFacts(engine.Desired{}, Module())
		if f.BootID != c.want || (c.problem == "") != (len(f.Problems) == 0) || len(f.Problems) > 0 && (!strings.HasPrefix(f.Problems[0], c.problem) || len(f.Problems[0]) > 200) {
			t.Errorf("%s: boot %q, problems %q", name, f.BootID, f.Problems)
		}
	}
}

package hoststate

import (
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// TestRebootKinds checks the facts that decide about the kind of a reboot.
func TestRebootKinds(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*moduletest.Box)
		want    engine.RebootFacts
	}{
		"plain":       {func(*moduletest.Box) {}, engine.RebootFacts{Systemd: 257, CountsSoft: true}},
		"old systemd": {func(b *moduletest.Box) { b.Write("systemd-version", "252") }, engine.RebootFacts{Systemd: 252}},
		"no answer":   {func(b *moduletest.Box) { b.Write("fail-show", "Failed to connect to bus: Host is down") }, engine.RebootFacts{}},
		"soft reboot prepared": {
			func(b *moduletest.Box) { b.Write("run/nextroot/usr/lib/os-release", "") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Prepared: engine.SoftReboot},
		},
		"preparation taken back": {func(b *moduletest.Box) { b.Mkdir("run/nextroot") }, engine.RebootFacts{Systemd: 257, CountsSoft: true}},
		"kernel loaded": {
			func(b *moduletest.Box) { b.Write("sys/kernel/kexec_loaded", "1") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Prepared: engine.KexecReboot},
		},
		"no kernel loaded": {func(b *moduletest.Box) { b.Write("sys/kernel/kexec_loaded", "0") }, engine.RebootFacts{Systemd: 257, CountsSoft: true}},
	} {
		b := moduletest.NewBox(t)
		c.prepare(b)
		if f := b.ReadFacts(engine.Desired{}, Module()); f.Reboots != c.want {
			t.Errorf("%s: %+v, want %+v", name, f.Reboots, c.want)
		}
	}
	if r := readRebootKinds("systemd x\nprepared full\nprepared soft\nprepared kexec\nsystemd 99999999999\n\n"); r != (engine.RebootFacts{Prepared: engine.SoftReboot}) {
		t.Errorf("%+v", r)
	}
}

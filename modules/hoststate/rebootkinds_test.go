package hoststate

import (
	"os"
	"path/filepath"
	"strings"
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
		"plain":       {func(*moduletest.Box) {}, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecNoKernel}},
		"old systemd": {func(b *moduletest.Box) { b.Write("systemd-version", "252") }, engine.RebootFacts{Systemd: 252, Kexec: engine.KexecNoKernel}},
		"no answer":   {func(b *moduletest.Box) { b.Write("fail-show", "Failed to connect to bus: Host is down") }, engine.RebootFacts{Kexec: engine.KexecNoKernel}},
		"soft reboot prepared": {
			func(b *moduletest.Box) { b.Write("run/nextroot/usr/lib/os-release", "") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Prepared: engine.SoftReboot, Kexec: engine.KexecNoKernel},
		},
		"preparation taken back": {func(b *moduletest.Box) { b.Mkdir("run/nextroot") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecNoKernel}},
		"kernel loaded": {
			func(b *moduletest.Box) { b.Write("sys/kernel/kexec_loaded", "1") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Prepared: engine.KexecReboot, Kexec: engine.KexecPossible},
		},
		"started by a boot loader": {func(b *moduletest.Box) {
			b.Write("sys/kernel/kexec_loaded", "0")
			b.Write("proc/sys/kernel/bootloader_type", "176\n")
		}, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecPossible, StartedBy: engine.StartedByLoader}},
		"started by a kexec": {func(b *moduletest.Box) {
			b.Write("sys/kernel/kexec_loaded", "0")
			b.Write("proc/sys/kernel/bootloader_type", "208\n")
		}, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecPossible, StartedBy: engine.StartedByKexec}},
		"a host without kexec": {func(b *moduletest.Box) { b.Write("proc/sys/kernel/bootloader_type", "208\n") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecNoKernel}},
		"no kernel loaded":     {func(b *moduletest.Box) { b.Write("sys/kernel/kexec_loaded", "0") }, engine.RebootFacts{Systemd: 257, CountsSoft: true, Kexec: engine.KexecPossible}},
	} {
		b := moduletest.NewBox(t)
		c.prepare(b)
		if f := b.ReadFacts(engine.Desired{}, Module()); f.Reboots != c.want {
			t.Errorf("%s: %+v, want %+v", name, f.Reboots, c.want)
		}
	}
	if r := readRebootKinds("systemd x\nprepared full\nprepared soft\nprepared kexec\nsystemd 99999999999\nkexec maybe\nloader x\n\n"); r != (engine.RebootFacts{Prepared: engine.SoftReboot}) {
		t.Errorf("%+v", r)
	}
}

// TestKexecSupport checks the reasons for which a host cannot kexec.
func TestKexecSupport(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  engine.KexecSupport
	}{
		"possible":           {nil, engine.KexecPossible},
		"lockdown none":      {map[string]string{"sys/kernel/security/lockdown": "[none] integrity confidentiality"}, engine.KexecPossible},
		"lockdown integrity": {map[string]string{"sys/kernel/security/lockdown": "none [integrity] confidentiality"}, engine.KexecLockdown},
		"allowed":            {map[string]string{"proc/sys/kernel/kexec_load_disabled": "0", "proc/sys/kernel/kexec_load_limit_reboot": "-1"}, engine.KexecPossible},
		"disabled":           {map[string]string{"proc/sys/kernel/kexec_load_disabled": "1"}, engine.KexecDisabled},
		"limit":              {map[string]string{"proc/sys/kernel/kexec_load_limit_reboot": "0"}, engine.KexecDisabled},
		"container":          {map[string]string{"run/systemd/container": "systemd-nspawn"}, engine.KexecContainer},
	} {
		b := moduletest.NewBox(t)
		b.Write("sys/kernel/kexec_loaded", "0")
		for file, text := range c.files {
			b.Write(file, text)
			if strings.HasPrefix(file, "proc/sys/") { // where a read ends after the first byte
				b.Check(os.WriteFile(filepath.Join(b.Root, file), []byte(text[:1]), 0o644))
			}
		}
		if f := b.ReadFacts(engine.Desired{}, Module()); f.Reboots.Kexec != c.want {
			t.Errorf("%s: %q, want %q", name, f.Reboots.Kexec, c.want)
		}
	}
}

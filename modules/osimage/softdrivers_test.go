package osimage

import (
	"os"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// softDrivers are hosts that can soft reboot, one for each way in which a driver stages an OS.
var softDrivers = []string{"ostree 2026.4", "rpm-ostree rebase", "rpm-ostree deploy", "rpm-ostree layered", "rpm-ostree image", "rpm-ostree signed image, layered", "bootc"}

// onSoftHosts runs a test for each of softDrivers.
func onSoftHosts(t *testing.T, test func(*osHost, engine.Desired)) {
	t.Helper()
	onSites(t, softDrivers, func(b *osHost, _ site, d engine.Desired) {
		b.makeSoft()
		test(b, d)
	})
}

// writeTrees writes the answers of ostree ls about the booted and the staged OS.
func (b *osHost) writeTrees(d engine.Desired, now, next string) {
	f := b.gatherFacts(d)
	b.Write("ls/"+commitOf(*f.Booted()), now)
	b.Write("ls/"+commitOf(*f.Staged()), next)
}

// TestEachDriverComparesTheStagedOS checks the facts that decide about a soft reboot with each driver.
func TestEachDriverComparesTheStagedOS(t *testing.T) {
	same := tree("6.12.1", "1", "2", "3")
	onSoftHosts(t, func(b *osHost, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "bootc")
		b.Write("proc/self/mounts", composefsMounts)
		b.Want(b.stage(d), 0, "staged and locked")
		b.writeTrees(d, same, same)
		f := b.gatherFacts(d)
		if s := f.Staged(); !f.Reboots.PreparesSoft || !f.Reboots.Composefs || f.Reboots.Ostree != "ostree 2026.4" || !s.Compared || len(s.Differs) > 0 || s.NoSoftTarget || s.SoftTarget {
			t.Errorf("%+v, %+v", f.Reboots, s)
		}
		b.writeTrees(d, same, tree("6.12.2", "4", "2", "3"))
		b.Write("soft-target", "")
		if s := b.gatherFacts(d).Staged(); !s.Compared || len(s.Differs) == 0 || !s.SoftTarget {
			t.Errorf("another kernel, prepared: %+v", s)
		}
	})
}

// TestEachDriverSoftReboots checks the order with each driver: prepared, refused and undone, and in full instead.
func TestEachDriverSoftReboots(t *testing.T) {
	onSoftHosts(t, func(b *osHost, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "bootc")
		b.Hold(engine.RunHold, "r1")
		b.Want(b.stage(d), 0, "staged and locked")
		must := b.softOrder(d, "no")
		b.Write("fail-prepare", "error: different kernel state")
		b.Want(b.Run(must), hostscript.ScriptCannot, "reboot: the host cannot soft reboot: error: different kernel state")
		if f := b.gatherFacts(d); !b.isReady(d) || b.Exists("soft-target") || strings.Contains(b.Log(), "rebooted") {
			t.Errorf("the staged OS is not locked again: %+v\n%s", f.Deployments, b.Log())
		}
		b.Remove("fail-prepare")
		b.Want(b.Run(must), 0, "soft rebooting into "+d.OS.Digest())
		if !strings.HasSuffix(b.Log(), "soft rebooted unlocked into the next root\n") {
			t.Errorf("log:\n%s", b.Log())
		}
		b.Check(os.RemoveAll(b.Root + "/run/nextroot/usr")) // systemd has moved the root
		if f := b.gatherFacts(d); f.Booted() != nil {
			t.Errorf("%+v is booted, although ostree has not moved the mark of the root yet", f.Booted())
		}
	})
}

// TestEachDriverFallsBack checks that a host that cannot soft reboot after all boots the staged OS in full.
func TestEachDriverFallsBack(t *testing.T) {
	onSoftHosts(t, func(b *osHost, d engine.Desired) {
		longtest.SkipOthers(b.T, d.OS.Driver, "bootc")
		b.Hold(engine.RunHold, "r1")
		b.Want(b.stage(d), 0, "staged and locked")
		b.Write("fail-prepare", "error: different kernel state")
		b.Want(b.Run(b.softOrder(d, "yes")), 0, "it reboots in full instead")
		if !strings.HasSuffix(b.Log(), "\nrebooted unlocked\n") {
			t.Errorf("log:\n%s", b.Log())
		}
	})
}

// TestBootcReportsSoftTargets checks that bootc's own report about the staged OS is a fact, and that a bootc that does
// not report it counts as one that says no.
func TestBootcReportsSoftTargets(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*osHost)
		no      bool
	}{
		"capable":      {func(*osHost) {}, false},
		"not capable":  {func(b *osHost) { b.Write("no-soft-target", "") }, true},
		"1.6":          {func(b *osHost) { b.Write("bootc-version", "1.6.0") }, true},
		"1.9":          {func(b *osHost) { b.Write("bootc-version", "1.9.0") }, false},
		"old ostree":   {func(b *osHost) { b.Write("ostree-version", "2025.2") }, true},
		"ostree alone": {func(b *osHost) { b.Write("bootc-version", "1.9.0"); b.Write("no-soft-target", "") }, true},
	} {
		onSites(t, []string{"bootc"}, func(b *osHost, _ site, d engine.Desired) {
			longtest.SkipOthers(b.T, name, "capable", "not capable")
			b.makeSoft()
			c.prepare(b)
			b.Want(b.stage(d), 0, "staged and locked")
			f := b.gatherFacts(d)
			if f.Staged().NoSoftTarget != c.no || f.Booted().NoSoftTarget || f.Reboots.NoOstree {
				t.Errorf("%s: %+v", name, f.Deployments)
			}
		})
	}
}

// TestNoOstree checks that a host with bootc's composefs backend is known as one without deployments of ostree.
func TestNoOstree(t *testing.T) {
	b := newOSHost(t)
	f := bootc{}.readStatus(engine.Outputs{
		"bootc version": {Stdout: "bootc 1.16.9\n"},
		"bootc status":  {Stdout: `{"status":{"booted":{"image":null,"incompatible":false,"pinned":false,"ostree":null,"composefs":{"verity":"` + moduletest.V1 + `"}}}}`},
	}, b.gatherFacts(engine.Desired{}), "")
	if !f.Reboots.NoOstree {
		t.Errorf("%+v", f.Reboots)
	}
}

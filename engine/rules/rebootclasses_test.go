package rules

import (
	"flag"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/docstest"
	"holdfast/engine/resource"
)

var update = flag.Bool("update", false, "rewrite the generated part of docs/reboots.md")

// TestRebootClassOfEachChange names the class and the least kind of reboot of changes of every
// class, with the places where they are usually made.
func TestRebootClassOfEachChange(t *testing.T) {
	const soft, kexec, full = engine.SoftReboot, engine.KexecReboot, engine.FullReboot
	seen := map[string]bool{}
	for _, c := range []struct {
		kind  engine.Kind
		name  string
		class string
		least engine.RebootKind
	}{
		{engine.OSKind, "quay.io/x/os@sha256:1", "os image", soft},
		{engine.KernelTypeKind, "realtime", "kernel type", kexec},
		{engine.KernelArgKind, "mitigations=off", "kernel arguments", kexec},
		{engine.ExtensionKind, "usbguard", "extensions", full},
		{engine.FileKind, "/usr/lib/modules/6.12/vmlinuz", "kernel", kexec},
		{engine.FileKind, "/boot/grub2/user.cfg", "boot loader", full},
		{engine.FileKind, "/etc/dracut.conf.d/10-nvme.conf", "boot loader", full},
		{engine.FileKind, "/etc/selinux/config", "security policy", kexec},
		{engine.FileKind, "/etc/audit/rules.d/50.rules", "security policy", kexec},
		{engine.UnitKind, "apparmor.service", "security policy", kexec},
		{engine.FileKind, "/etc/NetworkManager/system-connections/eno1.nmconnection", "network", full},
		{engine.DirectoryKind, "/etc/nmstate", "network", full},
		{engine.FileKind, "/etc/nmstate/openshift/x", "network", full},
		{engine.FileKind, "/etc/systemd/network/10-eno1.link", "network", full},
		{engine.UnitKind, "NetworkManager.service", "network", full},
		{engine.FileKind, "/etc/systemd/system/systemd-networkd.service.d/10.conf", "network", full},
		{engine.FileKind, "/etc/modprobe.d/nouveau.conf", "kernel modules", kexec},
		{engine.FileKind, "/etc/modules-load.d/br_netfilter.conf", "kernel modules", kexec},
		{engine.FileKind, "/usr/lib/firmware/x.bin", "firmware", full},
		{engine.FileKind, "/etc/sysctl.d/99-k8s.conf", "kernel settings", kexec},
		{engine.FileKind, "/etc/tmpfiles.d/thp.conf", "kernel settings", kexec},
		{engine.FileKind, "/usr/local/lib/sysctl.d/90-x.conf", "kernel settings", kexec},
		{engine.FileKind, "/var/usrlocal/lib/sysctl.d/90-x.conf", "kernel settings", kexec},
		{engine.FileKind, "/var/usrlocal/lib/modules-load.d/x.conf", "kernel modules", kexec},
		{engine.FileKind, "/var/usrlocal/lib/systemd/network/10-eno1.network", "network", full},
		{engine.FileKind, "/usr/local/lib/systemd/system/data.mount", "storage", full},
		{engine.FileKind, "/usr/local/lib/x/sysctl.d/90-x.conf", "other files", soft},
		{engine.FileKind, "/etc/udev/rules.d/99-disk.rules", "devices", kexec},
		{engine.FileKind, "/etc/crypttab", "storage", full},
		{engine.FileKind, "/etc/fstab", "storage", full},
		{engine.UnitKind, "var-lib-etcd.mount", "storage", full},
		{engine.LinkKind, "/etc/systemd/system/local-fs.target.wants/var-lib-etcd.mount", "storage", full},
		{engine.FileKind, "/etc/hostname", "identity", kexec},
		{engine.UnitKind, "ostree-remount.service", "soft reboot", full},
		{engine.UnitKind, "kexec-load.service", "kexec", full},
		{engine.FileKind, "/etc/systemd/system/kexec.target.d/10.conf", "kexec", full},
		{engine.FileKind, "/etc/crio/crio.conf.d/10.conf", "other files", soft},
		{engine.FileKind, "/etc/sysctl.dx/99.conf", "other files", soft},
		{engine.FileKind, "/etc/systemd/system/etcd.service.d/10.conf", "other files", soft},
		{engine.DirectoryKind, "/etc", "other files", soft},
		{engine.LinkKind, "/etc/localtime", "other files", soft},
		{engine.LinkKind, "/etc/systemd", "network", full},
		{engine.UnitKind, "etcd.service", "other units", soft},
		{engine.UserKind, "core", "accounts", soft},
		{engine.GroupKind, "wheel", "accounts", soft},
		{"", "x", "unknown", full},
		{"a kind to come", "x", "unknown", full},
	} {
		name := rebootClassOf(c.kind, c.name)
		if class := FindRebootClass(name); name != c.class || class.Name != c.class || class.Least != c.least {
			t.Errorf("%s %s: class %q with %s, want %q with %s", c.kind, c.name, name, class.Least, c.class, c.least)
		}
		seen[name] = true
	}
	for name, least := range map[string]engine.RebootKind{TaskClass: full, FailedActionClass: full, OSImageClass: soft, KernelArgsClass: kexec, "": full, "x": full} {
		if FindRebootClass(name).Least != least {
			t.Errorf("class %q: %s", name, FindRebootClass(name).Least)
		}
		seen[name] = true
	}
	names := map[string]bool{}
	for _, c := range RebootClasses() {
		if names[c.Name] || !seen[c.Name] || c.Reason == "" || c.Source == "" || c.Least != soft && c.Least != kexec && c.Least != full {
			t.Errorf("class %+v has no change in this test, or lacks a part", c)
		}
		names[c.Name] = true
	}
}

// TestCompareSetsRebootClasses checks that changes get their class through links, too.
func TestCompareSetsRebootClasses(t *testing.T) {
	policy, err := NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	policy = policy.WithLinks(resource.Links{"/etc/alias": "/etc/modprobe.d"})
	d, err := Compare(resource.Config{}, resource.Config{
		KernelArgs: []string{"quiet"}, Files: []resource.File{{Path: "/etc/alias/x.conf"}, {Path: "/etc/motd"}}, Units: []resource.Unit{{Name: "x.swap"}},
	}, policy)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range d.Changes {
		got = append(got, c.Class)
	}
	if want := []string{"kernel arguments", "kernel modules", "other files", "storage"}; !slices.Equal(got, want) {
		t.Errorf("classes %q, want %q", got, want)
	}
}

// TestOSParts checks that the parts of an OS that are compared lie where ostree ls lists them, and
// that a soft reboot is enough for none of them.
func TestOSParts(t *testing.T) {
	parts := OSParts()
	for _, want := range []string{"/usr/lib/modules", "/usr/lib/firmware", "/usr/lib/sysctl.d", "/usr/lib/modprobe.d", "/usr/etc/selinux", "/usr/etc/NetworkManager", "/usr/etc/crypttab", "/usr/etc/sysctl.d", "/usr/etc/crypto-policies/state", "/usr/etc/systemd/network", "/usr/lib/systemd/network", "/usr/etc/sysconfig/network", "/usr/lib/bootc/kargs.d", "/usr/lib/tmpfiles.d", "/usr/lib/udev/rules.d"} {
		if !slices.Contains(parts, want) {
			t.Errorf("%s is not compared", want)
		}
	}
	for _, p := range append(parts, "/usr/lib/modules/6.12") {
		if folder := path.Dir(strings.TrimPrefix(strings.TrimPrefix(p, "/usr/lib/"), "/usr/etc/")); strings.ContainsAny(folder, "/ #'") {
			t.Errorf("%s lies too deep, or has a character with a meaning", p)
		}
		if ClassOfOSPart(p).Least == engine.SoftReboot {
			t.Errorf("%s: %+v", p, ClassOfOSPart(p))
		}
	}
}

// TestRebootClassesAreDocumented compares the table in docs/reboots.md with the code.
func TestRebootClassesAreDocumented(t *testing.T) {
	var b strings.Builder
	b.WriteString("| change | soft reboot | kexec | reason | source |\n|---|---|---|---|---|\n")
	for _, c := range RebootClasses() {
		var places []string
		for _, p := range slices.Concat(c.Paths, c.Units) {
			places = append(places, "`"+p+"`")
		}
		name := c.Name
		if len(places) > 0 {
			name += ": " + strings.Join(places, ", ")
		}
		isEnough := map[bool]string{true: "yes", false: "no"}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, isEnough[!c.Least.Exceeds(engine.SoftReboot)], isEnough[!c.Least.Exceeds(engine.KexecReboot)], c.Reason, c.Source)
	}
	docstest.Page{Path: "../../docs/reboots.md", Arguments: "./engine/rules -update", Update: *update}.CheckGenerated(t, b.String())
}

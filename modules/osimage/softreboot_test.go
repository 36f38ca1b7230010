package osimage

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// composefsMounts are the mounts of a host with composefs, as in the lab.
const composefsMounts = "proc /proc proc rw 0 0\n/dev/loop0 /sysroot ext4 ro 0 0\ncomposefs / overlay ro,relatime,lowerdir+=/run/ostree/.private/cfsroot-lower 0 0\ncomposefs /run/nextroot overlay ro 0 0"

// lsLine is a line of ostree ls -C about a directory (ostree 2022.7).
func lsLine(path, sum string) string {
	return "d00755 0 0      0 " + strings.Repeat(sum, 64) + " " + strings.Repeat("e", 64) + " " + path + "\n"
}

// tree is the answer of ostree ls about an OS.
func tree(kernel, kernelSum, sysctl, selinux string) string {
	text := lsLine("/usr/lib", "a") + "l00777 0 0      0 " + strings.Repeat("b", 64) + " /usr/lib/os-release -> ../x\n" + lsLine("/usr/lib/python3", sysctl+"f") +
		lsLine("/usr/lib/modules", kernelSum) + lsLine("/usr/lib/sysctl.d", sysctl) + lsLine("/usr/lib/sysctlXd", selinux+"7") + lsLine("/usr/lib/modules", kernelSum) + lsLine("/usr/lib/modules/"+kernel, kernelSum) + lsLine("/usr/etc", "a")
	if selinux != "" {
		text += lsLine("/usr/etc/selinux", selinux)
	}
	return text
}

// TestSoftRebootFacts checks which parts of a staged OS differ from the booted one.
func TestSoftRebootFacts(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	const kernel = "6.12.1"
	for name, c := range map[string]struct {
		now, next string // trees of the booted and the staged OS
		compared  bool
		differs   []string
	}{
		"same":             {tree(kernel, "1", "2", "3"), tree(kernel, "1", "2", "3"), true, nil},
		"another kernel":   {tree(kernel, "1", "2", "3"), tree("6.12.2", "4", "2", "3"), true, []string{"/usr/lib/modules/6.12.1", "/usr/lib/modules/6.12.2"}},
		"other initramfs":  {tree(kernel, "1", "2", "3"), tree(kernel, "4", "2", "3"), true, []string{"/usr/lib/modules/6.12.1"}},
		"policy, settings": {tree(kernel, "1", "2", "3"), tree(kernel, "1", "4", "5"), true, []string{"/usr/etc/selinux", "/usr/lib/sysctl.d"}},
		"no SELinux":       {tree(kernel, "1", "2", ""), tree(kernel, "1", "2", ""), true, nil},
		"SELinux comes":    {tree(kernel, "1", "2", ""), tree(kernel, "1", "2", "3"), true, []string{"/usr/etc/selinux"}},
		"cut off":          {tree(kernel, "1", "2", "3"), lsLine("/usr/lib/modules", "1"), false, nil},
		"no answer":        {tree(kernel, "1", "2", "3"), "", false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "another kernel", "policy, settings", "cut off")
			t.Parallel()
			b := newOSHost(t)
			b.Write("ostree-version", "2025.7")
			b.Write("proc/self/mounts", composefsMounts)
			b.Write("ls/"+moduletest.V1, c.now)
			if c.next != "" {
				b.Write("ls/"+moduletest.V2, c.next)
			}
			if f := b.gatherFacts(d); !f.Reboots.PreparesSoft || !f.Reboots.Composefs || strings.Contains(b.Log(), "ostree ls") {
				t.Errorf("nothing is staged: %+v, %s", f.Reboots, b.Log())
			}
			b.Want(b.stage(d), 0, "staged and locked")
			f := b.gatherFacts(d)
			if s := f.Staged(); s.Compared != c.compared || !slices.Equal(s.Differs, c.differs) || f.Booted().Compared || len(f.Problems) > 0 {
				t.Errorf("compared %t, differs %q; want %t, %q (%q)", s.Compared, s.Differs, c.compared, c.differs, f.Problems)
			}
		})
	}
}

// TestSoftRebootIsNotPossible checks the facts of hosts that cannot soft reboot into another
// deployment. Nothing is compared on them.
func TestSoftRebootIsNotPossible(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	for name, c := range map[string]struct {
		version, mounts string
		prepares        bool
	}{
		"old ostree":     {"2025.2", composefsMounts, false},
		"no composefs":   {"2025.7", "/dev/sda3 / ext4 rw 0 0", true},
		"a mount inside": {"2025.7", "/dev/sda3 / ext4 rw 0 0\ncomposefs /mnt overlay ro 0 0", true},
	} {
		b := newOSHost(t)
		b.Write("ostree-version", c.version)
		b.Write("proc/self/mounts", c.mounts)
		b.Want(b.stage(d), 0, "staged and locked")
		f := b.gatherFacts(d)
		if f.Reboots.PreparesSoft != c.prepares || f.Reboots.Composefs || f.Staged().Compared || strings.Contains(b.Log(), "ostree ls") || len(f.Problems) > 0 {
			t.Errorf("%s: %+v, %q, %s", name, f.Reboots, f.Problems, b.Log())
		}
	}
}

// TestSoftRebootOfDisks checks the facts about file systems that a soft reboot would take away. The cases of encrypted disks
// are those of ostreedev/ostree#3503 and coreos/ignition#2216.
func TestSoftRebootOfDisks(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	const unit = "systemd-cryptsetup@luks\\x2droot.service"
	addDisk := func(b *osHost, folder, uuid, name string) {
		b.Write(folder+"/dm/uuid", uuid+"\n")
		b.Write(folder+"/dm/name", name+"\n")
	}
	linkTo := func(b *osHost, name, target string) {
		b.Mkdir(path.Dir(name))
		b.Check(os.Symlink(target, filepath.Join(b.Root, name)))
	}
	stacked := func(b *osHost, mount string) { // LVM on LUKS
		b.Write("proc/self/mountinfo", "22 1 0:30 / / ro shared:1 - overlay composefs ro\n"+mount)
		addDisk(b, "sys/class/block/dm-1", "LVM-abc", "vg-root")
		addDisk(b, "sys/dev/block/253:1", "LVM-abc", "vg-root")
		for _, over := range []string{"sys/class/block/dm-1", "sys/dev/block/253:1"} {
			addDisk(b, over+"/slaves/dm-0", "CRYPT-LUKS2-1234-luks-root", "luks-root")
		}
		b.Write("conflicts/"+unit, "umount.target shutdown.target\n")
	}
	const sysroot = "25 22 253:1 / /sysroot rw shared:2 - xfs /dev/mapper/vg-root rw\n"
	for name, c := range map[string]struct {
		version string
		prepare func(*osHost)
		want    engine.RebootFacts
	}{
		"plain":          {"2026.4", func(*osHost) {}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true}},
		"older":          {"2025.7", func(*osHost) {}, engine.RebootFacts{KeepsBoot: true}},
		"2025.10":        {"2025.10", func(*osHost) {}, engine.RebootFacts{KeepsBoot: true}},
		"no partition":   {"2025.4", func(b *osHost) { linkTo(b, "sysroot/boot/loader", "loader.1") }, engine.RebootFacts{}},
		"newer without":  {"2025.5", func(b *osHost) { linkTo(b, "sysroot/boot/loader", "loader.1") }, engine.RebootFacts{KeepsBoot: true}},
		"encrypted":      {"2026.4", func(b *osHost) { stacked(b, sysroot) }, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, ClosesDisk: unit}},
		"x-initrd":       {"2026.4", func(b *osHost) { stacked(b, sysroot); b.Write("conflicts/"+unit, "shutdown.target\n") }, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true}},
		"another volume": {"2026.4", func(b *osHost) { stacked(b, "26 22 253:1 / /var/lib/data rw - xfs /dev/mapper/vg-root rw\n") }, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true}},
		"iSCSI": {"2026.4", func(b *osHost) {
			b.Write("proc/self/mountinfo", "25 22 8:3 / /sysroot rw shared:2 - xfs /dev/sda3 rw\n")
			b.Write("sys/dev/block/session1/sda/sda3/partition", "3\n")
			linkTo(b, "sys/dev/block/8:3", "session1/sda/sda3")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, RemoteDisk: "sda"}},
		"NVMe over TCP": {"2026.4", func(b *osHost) {
			b.Write("proc/self/mountinfo", "25 22 259:1 / /sysroot rw shared:2 - xfs /dev/nvme0n1p1 rw\n")
			b.Write("sys/dev/block/subsystem/nvme0n1/nvme0n1p1/partition", "1\n")
			b.Write("sys/dev/block/subsystem/nvme0/transport", "tcp\n")
			linkTo(b, "sys/dev/block/259:1", "subsystem/nvme0n1/nvme0n1p1")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, RemoteDisk: "nvme0n1"}},
		"NVMe": {"2026.4", func(b *osHost) {
			b.Write("proc/self/mountinfo", "25 22 259:1 / /sysroot rw shared:2 - xfs /dev/nvme0n1 rw\n")
			b.Write("sys/dev/block/259:1/size", "1\n")
			b.Write("sys/dev/block/transport", "pcie\n")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true}},
		"NFS": {"2026.4", func(b *osHost) {
			b.Write("proc/self/mountinfo", "25 22 0:44 / /var rw shared:2 - nfs4 10.0.0.1:/var rw\n")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, RemoteDisk: "nfs4"}},
		"btrfs": {"2026.4", func(b *osHost) { // /dev/fd is a link on every machine, to a folder of that name
			b.Write("proc/self/mountinfo", "25 22 0:44 /root /sysroot rw shared:2 - btrfs /dev/fd rw\n")
			addDisk(b, "sys/class/block/fd", "CRYPT-LUKS2-1234-luks-root", "luks-root")
			b.Write("conflicts/"+unit, "umount.target\n")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, ClosesDisk: unit}},
		"a partition": {"2026.4", func(b *osHost) {
			stacked(b, "25 22 253:3 / /var rw shared:2 - xfs /dev/mapper/raid1 rw\n")
			b.Write("sys/dev/block/253:1/part3/partition", "3\n")
			linkTo(b, "sys/dev/block/253:3", "253:1/part3")
		}, engine.RebootFacts{KeepsMounts: true, KeepsBoot: true, ClosesDisk: unit}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			b.Write("ostree-version", c.version)
			c.prepare(b)
			f := b.gatherFacts(d)
			got := engine.RebootFacts{KeepsMounts: f.Reboots.KeepsMounts, KeepsBoot: f.Reboots.KeepsBoot, ClosesDisk: f.Reboots.ClosesDisk, RemoteDisk: f.Reboots.RemoteDisk}
			if got != c.want || !f.Reboots.PreparesSoft || len(f.Problems) > 0 {
				t.Errorf("%+v, want %+v; %q", f.Reboots, c.want, f.Problems)
			}
		})
	}
}

// TestComparedForAKexec checks that a host that can kexec compares both trees, also without composefs and with an old ostree,
// and that of many differences those stay that need a full reboot.
func TestComparedForAKexec(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	b := newOSHost(t)
	b.Write("proc/self/mounts", "/dev/sda3 / ext4 rw 0 0")
	b.Write("sys/kernel/kexec_loaded", "0")
	b.Write("ls/"+moduletest.V1, tree("6.1", "1", "2", "3"))
	next := tree("6.2", "1", "2", "3") + lsLine("/usr/lib/firmware", "5")
	for i := range 2 * maxDifferences {
		next += lsLine("/usr/lib/modules/5."+strconv.Itoa(i), "1")
	}
	b.Write("ls/"+moduletest.V2, next)
	b.Want(b.stage(d), 0, "staged and locked")
	if s := b.gatherFacts(d).Staged(); !s.Compared || len(s.Differs) != maxDifferences || s.Differs[0] != "/usr/lib/firmware" || !slices.IsSorted(s.Differs) {
		t.Errorf("%+v", s)
	}
}

// TestSoftTarget checks that the facts name the deployment that a soft reboot is prepared for.
func TestSoftTarget(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	b := newOSHost(t)
	b.Write("ostree-version", "2025.7")
	b.Want(b.stage(d), 0, "staged and locked")
	b.Write("soft-target", "")
	if f := b.gatherFacts(d); !f.Staged().SoftTarget || f.Booted().SoftTarget {
		t.Errorf("%+v", f.Deployments)
	}
}

package osimage

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdfast/engine"
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

package osimage

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine/longtest"
)

const realOstree = "/usr/bin/ostree"

// osTree is a tree of an OS: contents by path, "-> TARGET" for a link.
type osTree map[string]string

// commit puts the tree into the repository of the host with the real ostree, and returns the commit.
func (b *osHost) commit(tree osTree) string {
	b.T.Helper()
	dir := b.T.TempDir()
	for name, text := range tree {
		file := filepath.Join(dir, name)
		b.Check(os.MkdirAll(filepath.Dir(file), 0o755))
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			b.Check(os.Symlink(target, file))
			continue
		}
		b.Check(os.WriteFile(file, []byte(text), 0o644))
	}
	out, err := exec.Command(realOstree, "commit", "--repo="+b.Root+"/repo", "--orphan", "--no-xattrs", "--owner-uid=0", "--owner-gid=0", "--tree=dir="+dir).CombinedOutput()
	if err != nil {
		b.T.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestRealTrees compares trees in a repository of the real ostree.
func TestRealTrees(t *testing.T) {
	if _, err := os.Stat(realOstree); err != nil {
		t.Skip(err)
	}
	base := osTree{
		"usr/lib/modules/6.12.1/vmlinuz": "kernel", "usr/lib/modules/6.12.1/initramfs.img": "initramfs", "usr/lib/modules/6.12.1/kernel/a.ko": "module",
		"usr/lib/os-release": "VERSION=1", "usr/lib/systemd/systemd": "1", "usr/lib/systemd/network/99-default.link": "[Match]", "usr/lib/udev/rules.d/50.rules": "x",
		"usr/etc/crypto-policies/config": "DEFAULT", "usr/etc/crypto-policies/state/current": "DEFAULT", "usr/etc/selinux/config": "enforcing",
		"usr/etc/sysconfig/selinux": "-> ../selinux/config", "usr/etc/sysconfig/chronyd": "OPTIONS=", "usr/etc/motd": "1", "usr/bin/etcd": "3.5",
		"usr/lib/python3/x.py": "x", "usr/etc/systemd/system.conf": "x",
	}
	for name, c := range map[string]struct {
		change  osTree // "": the path is not there any more
		differs []string
	}{
		"nothing":           {nil, nil},
		"programs":          {osTree{"usr/bin/etcd": "3.6", "usr/lib/os-release": "VERSION=2", "usr/lib/systemd/systemd": "2", "usr/lib/python3/x.py": "y"}, nil},
		"other files":       {osTree{"usr/etc/motd": "2", "usr/etc/crypto-policies/config": "FUTURE", "usr/etc/sysconfig/chronyd": "2", "usr/etc/systemd/system.conf": "y"}, nil},
		"initramfs":         {osTree{"usr/lib/modules/6.12.1/initramfs.img": "2"}, []string{"/usr/lib/modules/6.12.1"}},
		"module":            {osTree{"usr/lib/modules/6.12.1/kernel/a.ko": "2"}, []string{"/usr/lib/modules/6.12.1"}},
		"kernel":            {osTree{"usr/lib/modules/6.12.1/vmlinuz": "", "usr/lib/modules/6.12.2/vmlinuz": "2"}, []string{"/usr/lib/modules/6.12.1", "/usr/lib/modules/6.12.2"}},
		"crypto policy":     {osTree{"usr/etc/crypto-policies/state/current": "FIPS"}, []string{"/usr/etc/crypto-policies/state"}},
		"network link":      {osTree{"usr/lib/systemd/network/99-default.link": "[Link]"}, []string{"/usr/lib/systemd/network"}},
		"network comes":     {osTree{"usr/etc/systemd/network/10-x.network": "x"}, []string{"/usr/etc/systemd/network"}},
		"network goes":      {osTree{"usr/lib/systemd/network/99-default.link": "", "usr/lib/systemd/x": "1"}, []string{"/usr/lib/systemd/network"}},
		"file in a folder":  {osTree{"usr/etc/sysconfig/network": "x"}, []string{"/usr/etc/sysconfig/network"}},
		"folder comes":      {osTree{"usr/lib/bootc/kargs.d/10.toml": "kargs"}, []string{"/usr/lib/bootc/kargs.d"}},
		"target of a link":  {osTree{"usr/etc/sysconfig/selinux": "-> ../selinux/other"}, []string{"/usr/etc/sysconfig/selinux"}},
		"folder is a link":  {osTree{"usr/lib/firmware": "-> ../share/firmware"}, []string{"/usr/lib/firmware"}},
		"rules and a motd":  {osTree{"usr/lib/udev/rules.d/50.rules": "y", "usr/etc/motd": "2"}, []string{"/usr/lib/udev/rules.d"}},
		"a name like it":    {osTree{"usr/lib/sysctlxd/1": "1", "usr/lib/sysctl.dx/1": "1", "usr/etc/fstab.bak": "1"}, nil},
		"a path like it":    {osTree{"usr/lib/x/usr/lib/sysctl.d/1": "1", "usr/lib/python3/sysctl.d/1": "1"}, nil},
		"prepare-root.conf": {osTree{"usr/lib/ostree/prepare-root.conf": "[composefs]", "usr/lib/ostree/ostree-remount": "2"}, []string{"/usr/lib/ostree/prepare-root.conf"}},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "programs", "kernel")
			t.Parallel()
			b := newOSHost(t)
			b.makeSoft()
			b.Write("proc/self/mounts", composefsMounts)
			b.Check(os.Symlink(realOstree, b.Root+"/real-ostree"))
			if out, err := exec.Command(realOstree, "init", "--repo="+b.Root+"/repo", "--mode=archive").CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			next := osTree{}
			for _, tree := range []osTree{base, c.change} {
				for name, text := range tree {
					next[name] = text
					if text == "" {
						delete(next, name)
					}
				}
			}
			b.Write("booted", b.commit(base)+" lab:lab/stable")
			b.Write("staged", b.commit(next)+" lab:lab/stable")
			b.Write("key", "")
			b.Write("run/ostree/staged-deployment", "")
			if s := b.gatherFacts(softUpdate).Staged(); !s.Compared || !slices.Equal(s.Differs, c.differs) {
				t.Errorf("compared %t, differs %q; want %q\n%s", s.Compared, s.Differs, c.differs, b.Log())
			}
			if n := strings.Count(b.Log(), "ostree ls"); n != 4 {
				t.Errorf("ostree starts %d times to compare", n)
			}
		})
	}
}

// TestTreesThatOstreeListsInPart checks that a list that ends early, with both trees at the same place, does not
// count as equal.
func TestTreesThatOstreeListsInPart(t *testing.T) {
	for name, cut := range map[string]string{
		"no folder of /etc":  lsLine("/usr/lib", "a") + lsLine("/usr/lib/modules", "1") + lsLine("/usr/lib/modules/6.12.1", "1"),
		"no second list":     tree("6.12.1", "1", "2", "3"),
		"no kernel at all":   lsLine("/usr/lib", "a") + lsLine("/usr/etc", "a"),
		"nothing but errors": "",
	} {
		b := newOSHost(t)
		b.makeSoft()
		b.Write("proc/self/mounts", composefsMounts)
		b.Want(b.stage(softUpdate), 0, "staged and locked")
		b.writeTrees(softUpdate, cut, cut)
		if name == "no second list" {
			b.Write("ls-dies", "/usr/lib/modules")
		}
		if s := b.gatherFacts(softUpdate).Staged(); s.Compared {
			t.Errorf("%s: compared, differs %q", name, s.Differs)
		}
	}
}

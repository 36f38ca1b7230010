package image

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// included lists the packages that mmdebstrap installs in addition to its apt variant.
const included = "linux-image-cloud-amd64,systemd,systemd-sysv,udev,openssh-server,ostree,ostree-boot," +
	"etcd-server,etcd-client,iproute2,ca-certificates,dbus,sudo,passwd"

// kernelPackages lists the packages that hosts with a kernel of their own need in addition.
const kernelPackages = ",dracut,kexec-tools"

// excluded lists patterns of paths that are not unpacked: hosts need no hardware database, manuals or translations.
var excluded = []string{"/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*", "/usr/lib/udev/hwdb.d/*"}

// modulesPattern matches the kernel modules. A host that is a container on the kernel of the machine that runs the lab needs none.
const modulesPattern = "/usr/lib/modules/*/kernel/*"

func (s Store) bootstrapTree(ctx context.Context) error {
	_, err := runCommand(ctx, "env", s.bootstrapArgs()...)
	return err
}

func (s Store) bootstrapArgs() []string {
	include, exclude := included, slices.Concat(excluded, []string{modulesPattern})
	if s.Suite.HasKernel() {
		include, exclude = included+kernelPackages, excluded
	}
	args := []string{
		"INITRD=No", "mmdebstrap", "--quiet", "--variant=apt", "--include=" + include,
		// On Ubuntu, apt does not trust Debian's keys, and mmdebstrap finds them by itself only if gpg is installed.
		// So this option names their file.
		"--keyring=" + keyring,
	}
	for _, pattern := range exclude {
		args = append(args, "--dpkgopt=path-exclude="+pattern)
	}
	// Without this option, apt would refuse a mirror of testing that was not
	// updated for a week.
	args = append(args, `--aptopt=Acquire::Check-Valid-Until "false"`)
	return append(args, s.Suite.debian(), s.path("tree"))
}

func (s Store) shapeTree(ctx context.Context) error {
	t := tree{root: s.path("tree")}
	steps := []func(context.Context) error{t.forgetIdentity, t.setUpUsers, t.setUpUnits, t.emptyVar, t.moveKernel, t.linkTopLevel}
	if s.Suite.usesComposefs() {
		steps = append(steps, t.useComposefs)
	}
	if s.Suite.HasKernel() {
		steps = append(steps, t.makeInitramfs)
	}
	for _, step := range append(steps, t.markVersion) {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// tree is a folder with files of the operating system: the Debian tree that
// shapeTree changes into an ostree tree, or the overlay of a later version.
type tree struct{ root string }

func (t tree) path(name string) string { return filepath.Join(t.root, name) }

func (t tree) writeFile(name, content string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(t.path(name)), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(t.path(name), []byte(content), mode); err != nil {
		return err
	}
	return os.Chmod(t.path(name), mode)
}

func (t tree) removeAll(patterns ...string) error {
	for _, pattern := range patterns {
		found, err := filepath.Glob(t.path(pattern))
		if err != nil {
			return err
		}
		for _, name := range found {
			if err := os.RemoveAll(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t tree) runInside(ctx context.Context, args ...string) error {
	_, err := runCommand(ctx, "chroot", append([]string{t.root}, args...)...)
	return err
}

// forgetIdentity removes files that an image must not have: those of a single
// host, the compiled hardware database, which no host needs, and temporary files.
// It keeps the file of the machine ID, but empties it. If this file were missing,
// systemd would treat the boot of a host as a first boot. Then it would apply its
// presets, and so enable and disable units again.
func (t tree) forgetIdentity(context.Context) error {
	err := t.removeAll("etc/ssh/ssh_host_*", "etc/hostname", "etc/resolv.conf", "etc/fstab",
		"etc/udev/hwdb.bin", "usr/lib/udev/hwdb.bin", ".updated", "run/*", "tmp/*")
	if err != nil {
		return err
	}
	return t.writeFile("etc/machine-id", "", 0o444)
}

// setUpUsers makes the user core, who may do everything with sudo, and sets up
// sshd for logins with keys. The password of core is "*" (no password
// matches), not "!" (locked): where UsePAM is off, sshd refuses a locked user even
// with a key.
func (t tree) setUpUsers(ctx context.Context) error {
	if err := t.runInside(ctx, "useradd", "-u", "1000", "-U", "-M", "-d", "/var/home/core",
		"-s", "/bin/bash", "-G", "adm", "-p", "*", "core"); err != nil {
		return err
	}
	if err := t.writeFile("etc/sudoers.d/core", "core ALL=(ALL) NOPASSWD: ALL\n", 0o440); err != nil {
		return err
	}
	return t.writeFile("etc/ssh/sshd_config.d/10-lab.conf",
		"UseDNS no\nGSSAPIAuthentication no\nPasswordAuthentication no\nMaxStartups 50:30:200\n", 0o644)
}

// setUpUnits enables sshd and the network, and masks units that a host does not
// need. It disables etcd.service, because only members of a cluster run etcd.
// Debian's etcd.service may start before the host has its address, and does not
// start again after it fails. So a drop-in lets it wait for the network, and
// restarts it.
func (t tree) setUpUnits(ctx context.Context) error {
	if err := t.runInside(ctx, "systemctl", "enable", "ssh.service", "systemd-networkd.service"); err != nil {
		return err
	}
	if err := t.runInside(ctx, "systemctl", "disable", "etcd.service"); err != nil {
		return err
	}
	if err := t.runInside(ctx, "systemctl", "mask", "apt-daily.timer", "apt-daily-upgrade.timer",
		"dpkg-db-backup.timer", "e2scrub_all.timer", "e2scrub_reap.service", "fstrim.timer", "getty@tty1.service", "console-getty.service",
		"systemd-udev-hwdb-update.service", "ldconfig.service"); err != nil {
		return err
	}
	return t.writeFile("usr/lib/systemd/system/etcd.service.d/10-lab.conf",
		"[Unit]\nAfter=network-online.target\n[Service]\nRestart=always\nRestartSec=1\n", 0o644)
}

// varEntries are lines of tmpfiles.d. With them, a host creates the folders and
// links of /var when it boots, because an update with ostree never changes /var.
const varEntries = `L+ /var/lib/dpkg - - - - ../../usr/lib/sysimage/dpkg
d /var/home 0755 root root -
d /var/home/core 0755 core core -
d /var/roothome 0700 root root -
d /var/opt 0755 root root -
d /var/srv 0755 root root -
d /var/mnt 0755 root root -
d /var/usrlocal 0755 root root -
d /var/lib/etcd 0700 etcd etcd -
d /var/log/journal 2755 root systemd-journal -
`

func (t tree) emptyVar(context.Context) error {
	if err := os.MkdirAll(t.path("usr/lib/sysimage"), 0o755); err != nil {
		return err
	}
	if err := os.Rename(t.path("var/lib/dpkg"), t.path("usr/lib/sysimage/dpkg")); err != nil {
		return err
	}
	if err := t.removeAll("var/*", "var/.[!.]*"); err != nil {
		return err
	}
	return t.writeFile("usr/lib/tmpfiles.d/lab.conf", varEntries, 0o644)
}

func (t tree) moveKernel(context.Context) error {
	release, err := kernelRelease(t.root)
	if err != nil {
		return err
	}
	dir := "usr/lib/modules/" + release
	if err := os.Rename(t.path("boot/vmlinuz-"+release), t.path(dir+"/vmlinuz")); err != nil {
		return err
	}
	if err := t.removeAll("boot/*", "initrd.img*", "vmlinuz*"); err != nil {
		return err
	}
	return t.writeFile(dir+"/initramfs.img", fakeInitramfs(firstVersion), 0o644)
}

func kernelRelease(root string) (string, error) {
	found, err := filepath.Glob(filepath.Join(root, "usr/lib/modules/*"))
	if err != nil {
		return "", fmt.Errorf("find kernel: %w", err)
	}
	if len(found) != 1 {
		return "", fmt.Errorf("find kernel: usr/lib/modules of %s has %d entries, but must have exactly one: the folder of the kernel", root, len(found))
	}
	return filepath.Base(found[0]), nil
}

// topLevel lists links of an ostree tree: those to folders that are writable on a
// host, and /ostree, which leads to ostree's own folder.
var topLevel = []struct{ name, target string }{
	{"home", "var/home"},
	{"root", "var/roothome"},
	{"srv", "var/srv"},
	{"opt", "var/opt"},
	{"mnt", "var/mnt"},
	{"media", "run/media"},
	{"usr/local", "../var/usrlocal"},
	{"ostree", "sysroot/ostree"},
}

func (t tree) linkTopLevel(context.Context) error {
	for _, l := range topLevel {
		if err := t.removeAll(l.name); err != nil {
			return err
		}
		if err := os.Symlink(l.target, t.path(l.name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(t.path("sysroot"), 0o755); err != nil {
		return err
	}
	return t.writeFile(prepareRootFile, prepareRootText, 0o644)
}

// prepareRootFile configures how a host mounts its root at boot.
const (
	prepareRootFile = "usr/lib/ostree/prepare-root.conf"
	prepareRootText = "[sysroot]\nreadonly=true\n"
)

// markVersion writes the version, empties /dev, and moves /etc to /usr/etc. It
// must run last, because the tools of the other steps need /etc.
func (t tree) markVersion(context.Context) error {
	release, err := os.ReadFile(t.path("usr/lib/os-release"))
	if err != nil {
		return err
	}
	if err := t.writeFile("usr/lib/os-release", withVersion(string(release), firstVersion), 0o644); err != nil {
		return err
	}
	if err := t.writeFile("etc/lab-release", firstVersion+"\n", 0o644); err != nil {
		return err
	}
	if err := t.removeAll("dev/*"); err != nil {
		return err
	}
	return os.Rename(t.path("etc"), t.path("usr/etc"))
}

func withVersion(release, version string) string {
	var kept []string
	for line := range strings.Lines(release) {
		if !strings.HasPrefix(line, "OSTREE_VERSION=") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "") + "OSTREE_VERSION='" + version + "'\n"
}

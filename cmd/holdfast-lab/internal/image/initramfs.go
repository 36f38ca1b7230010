package image

import (
	"context"
	_ "embed" // embeds scripts
	"os"
	"strings"
)

// fakeInitramfs returns a text in place of an initramfs. Hosts are containers on
// the kernel of the machine that runs the lab, so nothing unpacks an initramfs. But
// ostree names the boot folder by a checksum of the kernel and the initramfs. The
// text contains the version, so each version has its own folder.
func fakeInitramfs(version string) string {
	return strings.Repeat("initramfs of lab "+version+"\n", 64)
}

// initramfsDrivers lists the modules that a host in qemu needs to mount its root.
const initramfsDrivers = "virtio_pci virtio_blk virtio_net ext4 erofs overlay loop"

//go:embed sh/initramfs.sh
var initramfsScript string

// makeInitramfs makes an initramfs that mounts the root as ostree wants it.
func (t tree) makeInitramfs(ctx context.Context) error {
	release, err := kernelRelease(t.root)
	if err != nil {
		return err
	}
	_, err = runCommand(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-c", initramfsScript, "sh", t.root, release, initramfsDrivers)
	return err
}

// keepInitramfs keeps the initramfs of the first version, if it is a real one, for later versions.
func (s Store) keepInitramfs(release string) error {
	if !s.Suite.HasKernel() {
		return nil
	}
	return os.Rename(s.path("tree/usr/lib/modules", release, "initramfs.img"), s.path("initramfs.img"))
}

// initramfsOf returns an initramfs for a version that is about to be added. It has another checksum than those of the versions
// before. The kernel skips the zero bytes at its end.
func (s Store) initramfsOf(version string) (string, error) {
	if !s.Suite.HasKernel() {
		return fakeInitramfs(version), nil
	}
	first, err := os.ReadFile(s.path("initramfs.img"))
	if err != nil {
		return "", err
	}
	before, err := s.Versions()
	return string(first) + strings.Repeat("\x00", 512*len(before)), err
}

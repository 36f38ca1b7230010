package image

import (
	"context"
	"os"
)

// shareUnit shares the mounts of a host again after each soft reboot. On a machine, systemd does that by itself; in a
// container it does not, and then the root that ostree prepares for the next soft reboot does not reach systemd.
const shareUnit = `[Unit]
Description=Share the mounts of this host
DefaultDependencies=no
Before=local-fs-pre.target
ConditionVirtualization=container
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/mount --make-rshared /
`

// writableVar lets networkd ask for its folder in /var only when that is writable. After a soft reboot it is not until
// ostree-remount.service has run.
const writableVar = "[Unit]\nAfter=ostree-remount.service\n"

func (t tree) useComposefs(context.Context) error {
	const units = "usr/lib/systemd/system/"
	if err := t.writeFile(prepareRootFile, prepareRootText+"[composefs]\nenabled=true\n", 0o644); err != nil {
		return err
	}
	if err := t.writeFile(units+"systemd-networkd-persistent-storage.service.d/10-lab.conf", writableVar, 0o644); err != nil {
		return err
	}
	if err := t.writeFile(units+"lab-share-mounts.service", shareUnit, 0o644); err != nil {
		return err
	}
	if err := os.MkdirAll(t.path(units+"sysinit.target.wants"), 0o755); err != nil {
		return err
	}
	return os.Symlink("../lab-share-mounts.service", t.path(units+"sysinit.target.wants/lab-share-mounts.service"))
}

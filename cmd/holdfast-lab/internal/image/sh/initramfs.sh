# Makes the initramfs of a Debian tree with its own dracut.
set -eu
ROOT=$1 RELEASE=$2 DRIVERS=$3
mount --bind /dev "$ROOT/dev"
mount -t proc proc "$ROOT/proc"
mount -t sysfs sysfs "$ROOT/sys"
mount -t tmpfs tmpfs "$ROOT/tmp"
mount -t tmpfs tmpfs "$ROOT/run"
chroot "$ROOT" dracut --quiet --force --tmpdir /tmp --kver "$RELEASE" --no-hostonly --no-hostonly-cmdline \
	--add "ostree systemd" --omit "network i18n plymouth crypt dm lvm mdraid multipath nvmf" \
	--filesystems ext4 --add-drivers "$DRIVERS" "/usr/lib/modules/$RELEASE/initramfs.img" "$RELEASE"

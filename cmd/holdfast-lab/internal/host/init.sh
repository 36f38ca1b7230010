#!/bin/sh
# The first process of a host until the root switch. It replaces the initramfs, and
# runs the operating system's own ostree-prepare-root. So the real code makes /usr,
# /etc, /var, /sysroot and /run/ostree-booted.
CMDLINE=$(cat /cmdline)                     # before /proc moves
mount --make-rprivate /                     # a mount cannot be moved below a shared one
mount --bind /cmdline /proc/cmdline
/usr/lib/ostree/ostree-prepare-root /sysroot || { echo "ostree-prepare-root: exit $?"; exit 1; }
for m in dev proc sys run; do mount -n --move /$m /sysroot/$m; done
cd /sysroot || exit 1; mount -n --move . /
# In a container, systemd takes its kernel command line from its arguments, not from
# /proc/cmdline. ConditionKernelCommandLine=ostree needs these arguments.
# shellcheck disable=SC2086,SC2154 # words, from the environment
exec chroot . /bin/sh -c 'cd /; mount -n --make-rshared /; exec /sbin/init "$@"' sh $CMDLINE

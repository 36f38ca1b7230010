# Installs the first version into an empty system root. Meanwhile /boot is a tmpfs, because
# ostree freezes the filesystem of /boot, which must not be a filesystem of the machine.
set -eu
S=$1 REPO=$2 COMMIT=$3 REF=$4 OS=$5 REMOTE=$6 URL=$7
mkdir -p "$S/boot" "$S.boot"
mount -t tmpfs -o mode=755 tmpfs "$S/boot"
ostree admin init-fs "$S" --modern 2>/dev/null || ostree admin init-fs "$S"
ostree config --repo="$S/ostree/repo" set sysroot.bootloader none
ostree config --repo="$S/ostree/repo" set sysroot.readonly true
ostree admin os-init "$OS" --sysroot="$S"
ostree pull-local --repo="$S/ostree/repo" --remote="$REMOTE" "$REPO" "$COMMIT"
ostree refs --repo="$S/ostree/repo" --create="$REMOTE:$REF" "$COMMIT"
ostree remote add --repo="$S/ostree/repo" --no-sign-verify "$REMOTE" "$URL" "$REF"
ostree admin deploy --sysroot="$S" --os="$OS" --karg=root=LABEL=root --karg=rw --karg=console=ttyS0 "$REMOTE:$REF"
cp -a "$S/boot/." "$S.boot/"

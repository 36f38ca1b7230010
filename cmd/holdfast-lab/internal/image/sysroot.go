package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// deployScript installs the first version into an empty system root. Meanwhile
// /boot is a tmpfs, because ostree freezes the filesystem of /boot, which must
// not be a filesystem of the machine.
const deployScript = `set -eu
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
`

func (s Store) makeSysroot(ctx context.Context) error {
	list, err := s.Versions()
	if err != nil {
		return err
	}
	if _, err := runCommand(ctx, "unshare", "--mount", "--propagation", "private", "sh", "-c", deployScript, "sh",
		s.Sysroot(), s.Repo(), list[0].Commit, s.Suite.Ref(), OS, Remote, s.URL); err != nil {
		return err
	}
	if err := os.Remove(s.path("sysroot/boot")); err != nil {
		return err
	}
	return os.Rename(s.path("sysroot.boot"), s.path("sysroot/boot"))
}

// CopyDisk makes the disk of a host: an ext4 filesystem of the given size ("4G")
// with the pristine system root. The first copy of a size takes seconds. Later
// copies take a fraction of a second.
func (s Store) CopyDisk(ctx context.Context, size, target string) error {
	master := s.path("disk-" + size + ".img")
	if _, err := os.Stat(master); errors.Is(err, fs.ErrNotExist) {
		if err := s.logDuration("disk of "+size, func() error { return s.makeDisk(ctx, size, master) }); err != nil {
			return fmt.Errorf("make disk of %s: %w", size, err)
		}
	}
	_, err := runCommand(ctx, "cp", "--sparse=always", "--reflink=auto", master, target)
	return err
}

func (s Store) makeDisk(ctx context.Context, size, master string) error {
	part := master + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	if _, err := runCommand(ctx, "truncate", "-s", size, part); err != nil {
		return err
	}
	if _, err := runCommand(ctx, "mkfs.ext4", "-q", "-L", "root", "-d", s.Sysroot(), part); err != nil {
		return err
	}
	return os.Rename(part, master)
}

// copyDirScript copies the system root, with objects and /usr as hard links.
// Files that a host may change are real copies.
const copyDirScript = `set -eu
FROM=$1 TO=$2
mkdir -p "$TO"
cp -a "$FROM/boot" "$TO/"
mkdir "$TO/ostree" "$TO/ostree/repo"
for f in "$FROM"/ostree/repo/*; do
  case $f in */objects) cp -al "$f" "$TO/ostree/repo/";; *) cp -a "$f" "$TO/ostree/repo/";; esac
done
cp -a "$FROM"/ostree/boot.* "$TO/ostree/"
for d in "$FROM"/ostree/deploy/*; do
  o=$TO/ostree/deploy/${d##*/}; mkdir -p "$o/deploy"; cp -a "$d/var" "$o/"
  cp -a "$d"/deploy/*.origin "$o/deploy/"
  for r in "$d"/deploy/*.[0-9]*; do
    [ -d "$r" ] || continue
    cp -al "$r" "$o/deploy/"; rm -rf "$o/deploy/${r##*/}/etc"; cp -a "$r/etc" "$o/deploy/${r##*/}/"
  done
done
`

// CopyDir makes the system root of a host that has no separate disk.
func (s Store) CopyDir(ctx context.Context, target string) error {
	_, err := runCommand(ctx, "sh", "-c", copyDirScript, "sh", s.Sysroot(), target)
	return err
}

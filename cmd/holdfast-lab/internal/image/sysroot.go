package image

import (
	"context"
	_ "embed" // embeds scripts
	"errors"
	"fmt"
	"io/fs"
	"os"
)

//go:embed sh/deploy.sh
var deployScript string

func (s Store) makeSysroot(ctx context.Context) error {
	list, err := s.Versions()
	if err != nil {
		return err
	}
	if _, err := s.runTool(ctx, "sh", "-c", deployScript, "sh",
		s.sysroot(), s.Repo(), list[0].Commit, s.Suite.Ref(), OS, Remote, s.URL); err != nil {
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
	if _, err := runCommand(ctx, "mkfs.ext4", "-q", "-L", "root", "-d", s.sysroot(), part); err != nil {
		return err
	}
	return os.Rename(part, master)
}

//go:embed sh/copydir.sh
var copyDirScript string

// CopyDir makes the system root of a host that has no separate disk.
func (s Store) CopyDir(ctx context.Context, target string) error {
	_, err := runCommand(ctx, "sh", "-c", copyDirScript, "sh", s.sysroot(), target)
	return err
}

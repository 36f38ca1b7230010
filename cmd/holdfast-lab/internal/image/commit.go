package image

import (
	"context"
	"fmt"
	"os"
	"strings"
)

func (s Store) commitFirst(ctx context.Context) error {
	repo := "--repo=" + s.Repo()
	if err := s.keepTools(ctx); err != nil {
		return err
	}
	if _, err := s.runTool(ctx, "ostree", "init", repo, "--mode=archive"); err != nil {
		return err
	}
	if _, err := s.runTool(ctx, "ostree", "config", repo, "set", "archive.zlib-level", "1"); err != nil {
		return err
	}
	if _, err := s.commitTrees(ctx, firstVersion, "--tree=dir="+s.path("tree")); err != nil {
		return err
	}
	return s.keepBase()
}

// keepBase saves the facts of the first tree that later versions need, and
// removes the tree.
func (s Store) keepBase() error {
	release, err := kernelRelease(s.path("tree"))
	if err != nil {
		return err
	}
	osRelease, err := os.ReadFile(s.path("tree/usr/lib/os-release"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path("kernel-release"), []byte(release), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(s.path("os-release"), osRelease, 0o644); err != nil {
		return err
	}
	if err := s.keepInitramfs(release); err != nil {
		return err
	}
	return os.RemoveAll(s.path("tree"))
}

// Changes are the differences between a version and the first one, besides a default file in /etc and the release file.
type Changes struct {
	Payload Payload
	// SameKernel keeps the checksum of kernel and initramfs, as a soft reboot needs it.
	SameKernel bool
	// OtherEtcd appends a byte to the program etcd: it is the same program as another file.
	OtherEtcd bool
}

// Commit makes a version from the first one. The new version is the newest
// commit of the branch that hosts follow.
func (s Store) Commit(ctx context.Context, version string, changes Changes) (Version, error) {
	list, err := s.Versions()
	if err != nil {
		return Version{}, err
	}
	for _, v := range list {
		if v.Version == version {
			return v, fmt.Errorf("commit version %s: version exists as %s", version, v.Commit)
		}
	}
	over := tree{root: s.path("overlay")}
	if err := os.RemoveAll(over.root); err != nil {
		return Version{}, err
	}
	defer func() { _ = os.RemoveAll(over.root) }()
	if err := s.writeOverlay(over, version, changes); err != nil {
		return Version{}, fmt.Errorf("commit version %s: %w", version, err)
	}
	if changes.OtherEtcd {
		if err := s.writeOtherEtcd(ctx, over, list[0].Commit); err != nil {
			return Version{}, fmt.Errorf("commit version %s: %w", version, err)
		}
	}
	return s.commitTrees(ctx, version, "--tree=ref="+list[0].Commit, "--tree=dir="+over.root)
}

func (s Store) writeOverlay(over tree, version string, changes Changes) error {
	kernel, err := os.ReadFile(s.path("kernel-release"))
	if err != nil {
		return err
	}
	osRelease, err := os.ReadFile(s.path("os-release"))
	if err != nil {
		return err
	}
	files := map[string]string{
		"usr/lib/os-release":               withVersion(string(osRelease), version),
		"usr/etc/lab-release":              version + "\n",
		"usr/etc/lab-" + version + ".conf": "new default of " + version + "\n",
	}
	if !changes.SameKernel {
		if files["usr/lib/modules/"+string(kernel)+"/initramfs.img"], err = s.initramfsOf(version); err != nil {
			return err
		}
	}
	for name, content := range files {
		if err := over.writeFile(name, content, 0o644); err != nil {
			return err
		}
	}
	return changes.Payload.writeFiles(over.path("usr/lib/lab-payload"))
}

const etcdProgram = "usr/bin/etcd"

func (s Store) writeOtherEtcd(ctx context.Context, over tree, commit string) error {
	if err := over.writeFile(etcdProgram, "", 0o755); err != nil {
		return err
	}
	_, err := s.runTool(ctx, "sh", "-c", `ostree cat --repo="$1" "$2" "/$3" >"$4" && echo >>"$4"`, "sh", s.Repo(), commit, etcdProgram, over.path(etcdProgram))
	return err
}

func (s Store) commitTrees(ctx context.Context, version string, trees ...string) (Version, error) {
	args := append([]string{
		"commit", "--repo=" + s.Repo(), "-b", s.Suite.Ref(), "-s", "lab " + version,
		"--add-metadata-string=version=" + version, "--bootable",
	}, trees...)
	if s.Suite.usesComposefs() {
		args = append(args, "--generate-composefs-metadata")
	}
	out, err := s.runTool(ctx, "ostree", args...)
	if err != nil {
		return Version{}, err
	}
	v := Version{Version: version, Commit: out}
	if len(out) != 64 || strings.ContainsAny(out, " \n") {
		return v, fmt.Errorf("commit version %s: ostree printed %q", version, out)
	}
	if _, err := s.runTool(ctx, "ostree", "summary", "--repo="+s.Repo(), "-u"); err != nil {
		return v, err
	}
	return v, s.recordVersion(v)
}

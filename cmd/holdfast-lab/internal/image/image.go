// Package image builds the operating system of the hosts: a Debian tree in the
// form that ostree needs, an ostree repository with the versions, and a pristine
// system root. The disks of all hosts are copies of this root. All parts are
// built once and kept.
//
// https://ostreedev.github.io/ostree/adapting-existing/ describes how the tree of
// a distribution becomes an ostree tree.
package image

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// OS is the name of the hosts' state root.
	OS = "lab"
	// Remote is the name under which hosts know the repository.
	Remote = "lab"
	// firstVersion and secondVersion are the versions that every lab has.
	firstVersion, secondVersion = "1.0", "2.0"

	// Change format whenever images that are cached already become unusable; Build then makes them anew.
	format = "2"
)

// DefaultPayload is the size of the incompressible files that a version adds,
// in bytes.
const DefaultPayload = 60 << 20

// Store is the folder with the image.
type Store struct {
	Dir   string
	Suite Suite
	// URL is the address of the repository for hosts.
	URL string
	// Log prints each slow step.
	Log func(format string, args ...any)
}

// Version is one commit of the operating system.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
}

// Repo returns the path of the repository that hosts pull from.
func (s Store) Repo() string { return filepath.Join(s.Dir, "repo") }

// sysroot returns the path of the pristine system root with the first version.
func (s Store) sysroot() string { return filepath.Join(s.Dir, "sysroot") }

func (s Store) path(elem ...string) string {
	return filepath.Join(append([]string{s.Dir}, elem...)...)
}

// Build makes the image unless it exists. The image has the first two versions
// and the pristine system root.
func (s Store) Build(ctx context.Context) error {
	if have, err := os.ReadFile(s.path("format")); err == nil && string(have) == format {
		return nil
	}
	if err := Remove(s.Dir); err != nil {
		return fmt.Errorf("remove stale image: %w", err)
	}
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("make image folder: %w", err)
	}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"base tree", s.bootstrapTree},
		{"shape tree", s.shapeTree},
		{"commit " + firstVersion, s.commitFirst},
		{"system root", s.makeSysroot},
		{"commit " + secondVersion, func(ctx context.Context) error {
			_, err := s.Commit(ctx, secondVersion, Changes{Payload: EqualFiles(DefaultPayload)})
			return err
		}},
	} {
		if err := s.logDuration(step.name, func() error { return step.do(ctx) }); err != nil {
			return fmt.Errorf("build image: %s: %w", step.name, err)
		}
	}
	return os.WriteFile(s.path("format"), []byte(format), 0o644)
}

// Versions lists the versions, oldest first.
func (s Store) Versions() ([]Version, error) {
	raw, err := os.ReadFile(s.path("versions.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	var list []Version
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read versions: %w", err)
	}
	return list, nil
}

func (s Store) recordVersion(v Version) error {
	list, err := s.Versions()
	if err != nil {
		return err
	}
	raw, err := json.MarshalIndent(append(list, v), "", "  ")
	if err != nil {
		return fmt.Errorf("write versions: %w", err)
	}
	// The file may be linked with that of another image, which must not change.
	if err := os.WriteFile(s.path("versions.json.new"), raw, 0o644); err != nil {
		return fmt.Errorf("write versions: %w", err)
	}
	return os.Rename(s.path("versions.json.new"), s.path("versions.json"))
}

// Link makes another image in a new folder, with hard links to the files of this one. A version that is added to one image is
// not in the other: ostree and recordVersion replace files, and never write into a linked one.
func (s Store) Link(ctx context.Context, target string) error {
	_, err := runCommand(ctx, "cp", "-al", s.Dir, target)
	return err
}

func (s Store) logDuration(name string, do func() error) error {
	start := time.Now()
	err := do()
	s.Log("%-24s %5.1f s", name, time.Since(start).Seconds())
	return err
}

func runCommand(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// mmdebstrap has children, which would go on and keep the output open.
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s %s: %w: %s", name, strings.Join(args, " "), err, lastBytes(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}

func lastBytes(s string) string {
	const limit = 800
	s = strings.TrimSpace(s)
	return s[max(0, len(s)-limit):]
}

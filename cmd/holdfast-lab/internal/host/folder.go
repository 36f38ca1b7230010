// Package host is one machine of the lab: its disk, firmware, boot loader, power
// switch and identity. Each host has one supervisor process, which provides all
// of these. So a host continues to run after the command that started it has
// ended.
//
// A host is a systemd-nspawn container. Its first process runs
// ostree-prepare-root of the host's own operating system. Or it is a virtual machine
// in qemu, with the kernel and the initramfs of its operating system. As on a real machine,
// the boot loader entries on the disk determine the booted deployment.
package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"holdfast/cmd/holdfast-lab/internal/disk"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Kind is the way a host stores its files.
type Kind string

const (
	// OnLoop is a separate ext4 filesystem.
	OnLoop Kind = "loop"
	// OnDir is a directory. It shares unchanged files with all other hosts.
	OnDir Kind = "dir"
	// OnQemu is a separate ext4 filesystem, too, of a host in qemu.
	OnQemu Kind = "qemu"
)

// Config describes a host for its supervisor.
type Config struct {
	Host spec.Host `json:"host"`
	// Group is the parent of the control groups of all hosts of the lab.
	Group string `json:"group"`
	Kind  Kind   `json:"kind"`
	// Size is the size of the disk, such as "4G"; for loop hosts only.
	Size string `json:"size,omitempty"`
}

// Settings can change while a host runs. They survive power cycles.
type Settings struct {
	// Post is how long the firmware takes before each boot except the first.
	Post time.Duration `json:"post,omitempty"`
	// Cut is true while the network cable is pulled.
	Cut bool `json:"cut,omitempty"`
	// Speed limits the disk.
	Speed disk.Speed `json:"speed,omitzero"`
}

// Folder is the path of a host's files.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// Image returns the path of a loop host's disk.
func (f Folder) Image() string { return f.path("disk.img") }

// Root returns the mount point of the system root. For a directory host this is
// the system root itself. Only the supervisor sees the mount.
func (f Folder) Root() string { return f.path("disk") }

// PowerLog returns the path of the log of boots and exits, with one event a line.
func (f Folder) PowerLog() string { return f.path("power.log") }

// Console returns the path of the host's console output.
func (f Folder) Console() string { return f.path("console.log") }

// Config reads the host's configuration.
func (f Folder) Config() (c Config, err error) { return c, readJSON(f.path("host.json"), &c) }

// Settings reads the host's settings.
func (f Folder) Settings() (s Settings, err error) {
	err = readJSON(f.path("settings.json"), &s)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return s, err
}

// SetSettings replaces the host's settings. Tell(Reload) makes a running host
// use them.
func (f Folder) SetSettings(s Settings) error { return replaceJSON(f.path("settings.json"), s) }

// Create writes the configuration of a host, and the identity that its supervisor
// installs at the next boot. Package image makes the disk.
func (f Folder) Create(c Config, id Identity) error {
	if err := os.MkdirAll(f.Root(), 0o755); err != nil {
		return fmt.Errorf("make host folder: %w", err)
	}
	if err := replaceJSON(f.path("host.json"), c); err != nil {
		return err
	}
	return replaceJSON(f.path("identity.json"), id.listFiles())
}

func (f Folder) readIdentity() (files []identityFile, err error) {
	err = readJSON(f.path("identity.json"), &files)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return files, err
}

func (f Folder) forgetIdentity() error { return os.Remove(f.path("identity.json")) }

func readJSON(name string, v any) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read host: %w", err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("read host: %s: %w", name, err)
	}
	return nil
}

func replaceJSON(name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write host: %w", err)
	}
	if err := os.WriteFile(name+".new", raw, 0o600); err != nil {
		return fmt.Errorf("write host: %w", err)
	}
	return os.Rename(name+".new", name)
}

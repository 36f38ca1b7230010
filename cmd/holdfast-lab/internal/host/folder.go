// Package host is one machine of the lab: its disk, its firmware and boot
// loader, its power switch and its identity. A supervisor process per host
// plays all of them, so a host lives on when the command that started it ends.
//
// A host is a systemd-nspawn container whose first process runs the operating
// system's own ostree-prepare-root: what is booted is decided by the boot
// loader entries on the host's disk, as on a real machine.
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

// Kind is how a host keeps its files.
type Kind string

const (
	// OnLoop gives a host its own ext4 filesystem.
	OnLoop Kind = "loop"
	// OnDir makes it a directory that shares unchanged files with all others.
	OnDir Kind = "dir"
)

// Config is what a supervisor must know of its host.
type Config struct {
	Host spec.Host `json:"host"`
	// Group is the control group that holds those of all the lab's hosts.
	Group string `json:"group"`
	Kind  Kind   `json:"kind"`
	// Size of the disk, like "4G"; loop hosts only.
	Size string `json:"size,omitempty"`
}

// Settings are what can be changed while a host runs. They survive its power.
type Settings struct {
	// Post is how long the firmware takes before each boot but the first.
	Post time.Duration `json:"post,omitempty"`
	// Cut is true while the network cable is pulled.
	Cut bool `json:"cut,omitempty"`
	// Speed limits the disk.
	Speed disk.Speed `json:"speed,omitzero"`
}

// Folder is where a host's files are.
type Folder string

func (f Folder) path(name string) string { return filepath.Join(string(f), name) }

// Image is the path of a loop host's disk.
func (f Folder) Image() string { return f.path("disk.img") }

// Root is where the system root is mounted, or the system root itself of a
// directory host. The mount is visible to the supervisor only.
func (f Folder) Root() string { return f.path("disk") }

// PowerLog is the path of the record of boots and exits, one a line.
func (f Folder) PowerLog() string { return f.path("power.log") }

// Console is the path of everything the host printed on its console.
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

// SetSettings replaces the host's settings; Tell(Reload) makes a running host
// use them.
func (f Folder) SetSettings(s Settings) error { return replaceJSON(f.path("settings.json"), s) }

// Create writes a host's configuration and the identity that its supervisor
// installs at the next boot. The disk itself is made by package image.
func (f Folder) Create(c Config, id Identity) error {
	if err := os.MkdirAll(f.Root(), 0o755); err != nil {
		return fmt.Errorf("make host folder: %w", err)
	}
	if err := replaceJSON(f.path("host.json"), c); err != nil {
		return err
	}
	return replaceJSON(f.path("identity.json"), id.Files())
}

// readIdentity reads the files that are still to be installed, if any.
func (f Folder) readIdentity() (files []File, err error) {
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

// replaceJSON replaces a file at once, so that a reader never sees half of it.
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

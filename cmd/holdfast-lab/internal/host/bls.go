package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// bootEntry is a boot loader entry, see
// https://uapi-group.org/specifications/specs/boot_loader_specification/.
type bootEntry struct {
	File    string
	Version int
	Options string
	// Linux and Initrd are the paths of the kernel and the initramfs in /boot.
	Linux, Initrd string
}

// findDeployment returns the path of the entry's deployment link, which it finds in
// the options.
func (e bootEntry) findDeployment() (string, error) {
	for _, option := range strings.Fields(e.Options) {
		if target, ok := strings.CutPrefix(option, "ostree="); ok {
			return target, nil
		}
	}
	return "", fmt.Errorf("read boot entry %s: no ostree= in its options", e.File)
}

func parseEntry(file, content string) (bootEntry, error) {
	e := bootEntry{File: file, Version: -1}
	for line := range strings.Lines(content) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		switch key {
		case "version":
			n, err := strconv.Atoi(value)
			if err != nil {
				return e, fmt.Errorf("read boot entry %s: version: %w", file, err)
			}
			e.Version = n
		case "options":
			e.Options = value
		case "linux":
			e.Linux = value
		case "initrd":
			e.Initrd = value
		}
	}
	return e, nil
}

// defaultEntry returns the entry that a boot loader boots by default: the one
// with the highest version. It ignores file names, because these differ between
// versions of ostree.
func defaultEntry(boot fs.FS) (bootEntry, error) {
	const dir = "loader/entries"
	files, err := fs.ReadDir(boot, dir)
	if err != nil {
		return bootEntry{}, fmt.Errorf("read boot entries: %w", err)
	}
	best, found := bootEntry{}, false
	for _, f := range files {
		if path.Ext(f.Name()) != ".conf" {
			continue
		}
		raw, err := fs.ReadFile(boot, path.Join(dir, f.Name()))
		if err != nil {
			return bootEntry{}, fmt.Errorf("read boot entry: %w", err)
		}
		e, err := parseEntry(f.Name(), string(raw))
		if err != nil {
			return bootEntry{}, err
		}
		if !found || e.Version > best.Version {
			best, found = e, true
		}
	}
	if !found {
		return bootEntry{}, errors.New("read boot entries: there is none")
	}
	return best, nil
}

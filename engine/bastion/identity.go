package bastion

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"holdfast/engine/journal"
)

// Holder returns OPERATOR@HOST, the holder that a hold names.
func Holder() string {
	name := os.Getenv("USER")
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if sudoer := os.Getenv("SUDO_USER"); sudoer != "" {
		name = sudoer
	}
	host, err := os.Hostname()
	if err != nil {
		host = "bastion"
	}
	return name + "@" + host
}

// StateDir returns the folder for the identity of this bastion. The folder is
// not next to the inventory or its journals, because people copy those. Users
// who can read root's folder also use it, and so share the identity of root.
func StateDir() string {
	const machineWide = "/var/lib/holdfast-bastion"
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast")
	}
	home, err := os.UserHomeDir()
	entries, readErr := os.ReadDir(machineWide)
	if os.Geteuid() == 0 || err != nil || readErr == nil && len(entries) > 0 {
		return machineWide
	}
	return filepath.Join(home, ".local", "state", "holdfast")
}

// ThisMachine returns the machine ID and the host name. In a copy of a machine,
// at least one of the two usually differs.
func ThisMachine() journal.Machine {
	id, _ := os.ReadFile("/etc/machine-id") // some containers have none
	name, _ := os.Hostname()
	return journal.Machine{MachineID: strings.TrimSpace(string(id)), Hostname: name}
}

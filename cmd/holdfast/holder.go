package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"holdfast/engine/journal"
	"holdfast/engine/textutil"
)

// holderName names who runs holdfast, and where: user@bastion.
func holderName() string {
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

// stateDir is the folder that keeps the identity of this bastion: never that of an
// inventory or its journals, which people copy. What root keeps for the whole
// machine is also everybody's who may read it.
func stateDir() string {
	const machineWide = "/var/lib/holdfast-bastion"
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdfast")
	}
	home, err := os.UserHomeDir()
	entries, unreadable := os.ReadDir(machineWide)
	if os.Geteuid() == 0 || err != nil || unreadable == nil && len(entries) > 0 {
		return machineWide
	}
	return filepath.Join(home, ".local", "state", "holdfast")
}

// thisMachine is by what this machine can be told from one that its disk was
// copied to.
func thisMachine() journal.Machine {
	id, _ := os.ReadFile("/etc/machine-id") // not every container has one
	name, _ := os.Hostname()
	return journal.Machine{ID: strings.TrimSpace(string(id)), Name: name}
}

// keepBastion makes sure that holds that the command takes can be told from those
// of other bastions.
func (a *app) keepBastion(s *site) error {
	here, err := journal.EnsureBastion(stateDir(), thisMachine())
	if err != nil {
		return err
	}
	if was := here.Replaced; was != (journal.Machine{}) {
		fmt.Fprintf(a.stderr, "holdfast: warning: the identity of this bastion was made on %s, with another host name or machine ID, and is replaced; holds that runs of that bastion have left are not taken over\n", textutil.Printable(was.Name))
	}
	s.run.Start.Bastion = here.Identity
	return nil
}

package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
)

const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg" // of Debian's archive

// tool is a program, and its package in Debian and Ubuntu.
type tool struct{ path, pkg string }

// tools are the programs of every lab.
var tools = []tool{
	{"/usr/bin/systemd-nspawn", "systemd-container"},
	{"/usr/bin/ostree", "ostree"},
	{"/usr/bin/mmdebstrap", "mmdebstrap"},
	{keyring, "debian-archive-keyring"},
	{"/usr/bin/ssh", "openssh-client"},
	{"/usr/bin/unshare", "util-linux"},
}

// searched are tools whose folders differ between releases of the distribution.
var searched = []struct{ name, pkg string }{
	{"ip", "iproute2"},
	{"mkfs.ext4", "e2fsprogs"},
}

// emulatorPath is the program that runs hosts in qemu. The package qemu-system-x86 has it.
const emulatorPath = "/usr/bin/qemu-system-x86_64"

// InstallEmulator installs qemu if it is missing. Only hosts in qemu need it.
func InstallEmulator(ctx context.Context, log func(format string, args ...any)) error {
	return installMissing(ctx, log, missingPackages([]tool{{emulatorPath, "qemu-system-x86"}}))
}

// InstallRedfishClients installs the Redfish clients of Debian that are missing.
func InstallRedfishClients(ctx context.Context, log func(format string, args ...any)) error {
	return installMissing(ctx, log, missingPackages([]tool{
		{"/usr/bin/sushycli", "python3-sushy-cli"}, // which needs python3-sushy
		{"/usr/bin/redfishtool", "redfishtool"},
	}))
}

func installMissing(ctx context.Context, log func(format string, args ...any), missing []string) error {
	if len(missing) == 0 {
		return nil
	}
	log("install packages: %v", missing)
	return installPackages(ctx, missing)
}

// InstallTools installs the packages that the lab needs and that are missing on
// this machine.
func InstallTools(ctx context.Context, log func(format string, args ...any)) error {
	missing := missingPackages(tools)
	for _, t := range searched {
		if _, err := exec.LookPath(t.name); err != nil {
			missing = append(missing, t.pkg)
		}
	}
	if err := installMissing(ctx, log, missing); err != nil {
		return err
	}
	if !lacksMachineID(machineIDFile) {
		return nil
	}
	log("make %s, from which systemd-nspawn derives the addresses of hosts", machineIDFile)
	if out, err := exec.CommandContext(ctx, "systemd-machine-id-setup").CombinedOutput(); err != nil {
		return fmt.Errorf("systemd-machine-id-setup: %w: %s", err, lastBytes(string(out)))
	}
	return nil
}

const machineIDFile = "/etc/machine-id"

// lacksMachineID reports whether a machine has no ID. This is so in a container, or in a root
// filesystem that has never booted.
func lacksMachineID(file string) bool {
	id, err := os.ReadFile(file)
	return err != nil || len(bytes.TrimSpace(id)) != 32 // a machine ID has 32 hexadecimal digits
}

func installPackages(ctx context.Context, missing []string) error {
	if err := runApt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, missing...)...); err == nil {
		return nil
	}
	// The package lists may be missing or older than the mirror.
	if err := runApt(ctx, "update"); err != nil {
		return err
	}
	return runApt(ctx, append([]string{"install", "-y", "--no-install-recommends"}, missing...)...)
}

func missingPackages(of []tool) []string {
	var pkgs []string
	for _, t := range of {
		if _, err := os.Stat(t.path); errors.Is(err, fs.ErrNotExist) {
			pkgs = append(pkgs, t.pkg)
		}
	}
	return pkgs
}

func runApt(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q", "-o", "DPkg::Lock::Timeout=120"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("apt-get %s: %w: %s", args[0], err, lastBytes(string(out)))
	}
	return nil
}

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/netns"
)

// emulator is the program of hosts in qemu.
const emulator = "qemu-system-x86_64"

// emulatorNiceness lets the hosts of other labs go first. A boot in the emulation uses all processors for minutes, and would
// make etcd members beside it late.
const emulatorNiceness = "10"

// virtual is a host that is a virtual machine in qemu.
type virtual struct {
	cmd     *exec.Cmd
	monitor *monitor
}

func (v virtual) wait() int {
	_ = v.cmd.Wait() // the exit code is enough
	if v.monitor.waitEnd() == guestReset {
		return rebootStatus
	}
	return v.cmd.ProcessState.ExitCode()
}

func (v virtual) kill(time.Time) { _ = v.cmd.Process.Kill() }

func (v virtual) pressPower() error { return v.monitor.tell("system_powerdown") }

func (v virtual) setFrozen(frozen bool) error {
	if frozen {
		return v.monitor.tell("stop")
	}
	return v.monitor.tell("cont")
}

// startQemu plays the firmware and the boot loader of a virtual machine: it copies kernel and initramfs from the disk as the
// entry names them, and hands the disk over. A kexec of the guest does not end qemu; a reboot does.
func (m *machine) startQemu(ctx context.Context, b boot) (guest, error) {
	for from, to := range map[string]string{b.entry.Linux: "vmlinuz", b.entry.Initrd: "initramfs.img"} {
		if err := copyFile(filepath.Join(m.Root(), "boot", from), m.path(to)); err != nil {
			return nil, fmt.Errorf("read boot entry %s: %w", b.entry.File, err)
		}
	}
	if err := m.unmountRoot(); err != nil {
		return nil, err
	}
	index := m.config.Host.Index
	if err := errors.Join(netns.AddTap(ctx, index), netns.Plug(ctx, index, !m.settings.Cut)); err != nil {
		return nil, err
	}
	dir, err := os.Open(string(m.group))
	if err != nil {
		return nil, fmt.Errorf("open control group: %w", err)
	}
	defer func() { _ = dir.Close() }()
	cmd := exec.Command("nice", append([]string{"-n", emulatorNiceness, emulator}, m.qemuArgs(b)...)...)
	cmd.SysProcAttr = &unix.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	console, err := os.OpenFile(m.Console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open console log: %w", err)
	}
	defer func() { _ = console.Close() }()
	cmd.Stdout, cmd.Stderr = console, console
	mon, err := startMonitored(cmd)
	if err != nil {
		return nil, fmt.Errorf("start qemu: %w", err)
	}
	return virtual{cmd, mon}, nil
}

// qemuArgs leaves cx16 out of the processor: with it and several processors, kernels crash in the emulation.
func (m *machine) qemuArgs(b boot) []string {
	index := m.config.Host.Index
	return []string{
		"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max,-cx16", "-smp", "2", "-m", "1536",
		"-no-user-config", "-nodefaults", "-display", "none", "-no-reboot",
		"-kernel", m.path("vmlinuz"), "-initrd", m.path("initramfs.img"), "-append", b.entry.Options,
		"-drive", "file=" + m.loop.Device() + ",if=virtio,format=raw,cache=none,aio=threads",
		"-netdev", "tap,id=net,script=no,downscript=no,ifname=" + netns.Tap(index),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=net,mac=52:54:00:77:00:%02x", index),
		"-device", "virtio-rng-pci",
		"-chardev", "file,id=console,append=on,path=" + m.Console(), "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
	}
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

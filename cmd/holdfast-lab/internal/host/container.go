package host

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/netns"
)

//go:embed init.sh
var initScript []byte

// nspawnState is the folder of systemd-nspawn for locks and sockets.
const nspawnState = "/run/systemd/nspawn"

// hideNspawn mounts a private state folder for the systemd-nspawn of this
// supervisor. So no state stays on the machine, and labs do not share state.
func hideNspawn() error {
	if err := os.MkdirAll(nspawnState, 0o755); err != nil {
		return fmt.Errorf("make container state: %w", err)
	}
	if err := unix.Mount("tmpfs", nspawnState, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mount container state: %w", err)
	}
	return nil
}

// boot is the deployment that the boot loader has chosen for one start of a host.
type boot struct {
	entry      bootEntry
	deployment string // absolute path in the mounted system root
}

func chooseBoot(root string) (boot, error) {
	entry, err := defaultEntry(os.DirFS(filepath.Join(root, "boot")))
	if err != nil {
		return boot{}, err
	}
	target, err := entry.findDeployment()
	if err != nil {
		return boot{}, err
	}
	dir, err := filepath.EvalSymlinks(filepath.Join(root, target))
	if err != nil {
		return boot{}, fmt.Errorf("find deployment of %s: %w", entry.File, err)
	}
	return boot{entry: entry, deployment: dir}, nil
}

// writeInitialTree writes the files that the first process of the container
// needs: a tree with only the links that make /usr usable, the script, and the
// kernel command line.
func (f Folder) writeInitialTree(b boot) error {
	dir := f.path("initrd")
	for _, name := range []string{"usr", "sysroot", "proc", "sys", "dev", "run", "tmp", "etc", "var"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return fmt.Errorf("make initial tree: %w", err)
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.Symlink("usr/"+name, filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return fmt.Errorf("make initial tree: %w", err)
		}
	}
	for name, content := range map[string][]byte{
		f.path("init"):                          initScript,
		f.path("cmdline"):                       []byte(b.entry.Options + "\n"),
		filepath.Join(dir, "init"):              nil,
		filepath.Join(dir, "cmdline"):           nil,
		filepath.Join(dir, "etc", "os-release"): nil,
	} {
		if err := os.WriteFile(name, content, 0o755); err != nil {
			return fmt.Errorf("make initial tree: %w", err)
		}
	}
	return nil
}

// container is a host that is a systemd-nspawn container.
type container struct {
	cmd   *exec.Cmd
	group cgroup
}

func (c container) wait() int {
	_ = c.cmd.Wait() // the exit code is enough
	return c.cmd.ProcessState.ExitCode()
}

// nspawnTimeout limits how long systemd-nspawn may take to notice that its
// container has ended, or to start a container that can be killed.
const nspawnTimeout = 5 * time.Second

// kill ends the container. Then systemd-nspawn cleans up and ends. If it
// takes longer than nspawnTimeout, kill ends it, too.
func (c container) kill(since time.Time) {
	if pid, ok := c.group.findInit(); ok {
		_ = unix.Kill(pid, unix.SIGKILL) // the process may have ended
	} else if time.Since(since) > nspawnTimeout {
		_ = c.cmd.Process.Kill()
	}
}

// pressPower lets systemd-nspawn send its --kill-signal to the container.
func (c container) pressPower() error { return c.cmd.Process.Signal(unix.SIGTERM) }

func (c container) setFrozen(frozen bool) error { return c.group.setFrozen(frozen) }

// startContainer makes a time namespace for the container, so that the uptime of the host starts at zero.
func (m *machine) startContainer(_ context.Context, b boot) (guest, error) {
	if err := m.writeInitialTree(b); err != nil {
		return nil, err
	}
	boottime, err := clockSeconds(unix.CLOCK_BOOTTIME)
	if err != nil {
		return nil, err
	}
	monotonic, err := clockSeconds(unix.CLOCK_MONOTONIC)
	if err != nil {
		return nil, err
	}
	console, err := os.OpenFile(m.Console(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open console log: %w", err)
	}
	defer func() { _ = console.Close() }()
	dir, err := os.Open(string(m.group))
	if err != nil {
		return nil, fmt.Errorf("open control group: %w", err)
	}
	defer func() { _ = dir.Close() }()
	args := append([]string{
		"--time", fmt.Sprintf("--boottime=-%d", boottime), fmt.Sprintf("--monotonic=-%d", monotonic),
		"systemd-nspawn",
	}, m.nspawnArgs(m.config, m.settings, b)...)
	cmd := exec.Command("unshare", args...)
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1")
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &unix.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start container: %w", err)
	}
	return container{cmd, m.group}, nil
}

func (f Folder) nspawnArgs(c Config, s Settings, b boot) []string {
	// If the cable is pulled at power on, the host gets a port without a bridge.
	network := "--network-bridge=" + netns.Bridge
	if s.Cut {
		network = "--network-veth"
	}
	return []string{
		"--quiet", "--register=no", "--keep-unit",
		"--machine=" + netns.Machine(c.Host.Index), "--uuid=" + formatUUID(machineID(c.Host)),
		"--directory=" + f.path("initrd"),
		"--bind=" + f.Root() + ":/sysroot", "--bind-ro=" + b.deployment + "/usr:/usr",
		"--bind-ro=" + f.path("init") + ":/init", "--bind-ro=" + f.path("cmdline") + ":/cmdline",
		network, "--resolv-conf=off", "--timezone=off", "--link-journal=no",
		"--console=read-only", "--kill-signal=SIGRTMIN+3", "/init",
	}
}

func formatUUID(id string) string {
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-")
}

func clockSeconds(clock int32) (int64, error) {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("read clock: %w", err)
	}
	return t.Sec, nil
}

// Package netns is the lab's network: one private network namespace with one
// bridge and no route to the outside. Hosts, the server of OS content and
// holdfast run in it, so that they cannot reach other machines.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/sourcegraph/conc"
	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/spec"
)

// Bridge is the name of the bridge that connects the hosts. It is the same in
// each namespace.
const Bridge = "hflab0"

// Namespace is the name of a network namespace, as in "ip netns list".
type Namespace string

// folder is the folder in which "ip netns" keeps its namespaces.
var folder = "/run/netns"

func (n Namespace) path() string { return filepath.Join(folder, string(n)) }

// errStale is the error for a name without a namespace: the file remains from a namespace that
// existed before the machine was restarted.
var errStale = errors.New("it is a plain file, left by a lab that was killed; holdfast-lab up makes the namespace anew")

// exists removes a plain file that a killed lab has left under the name.
func (n Namespace) exists() (bool, error) {
	f, err := openNamespace(n.path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, errStale):
		return false, unix.Unlink(n.path()) // Unlink does not remove a folder
	case err != nil:
		return false, err
	}
	return true, f.Close()
}

// List returns the namespaces with this prefix. It does not return plain files that killed labs have left.
func List(prefix string) ([]Namespace, error) {
	paths, err := filepath.Glob(filepath.Join(folder, prefix+"*"))
	if err != nil {
		return nil, err
	}
	var all []Namespace
	for _, path := range paths {
		f, err := openNamespace(path)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errStale):
		case err != nil:
			return nil, err
		default:
			all = append(all, Namespace(filepath.Base(path)))
			_ = f.Close() // only opened to look at it
		}
	}
	return all, nil
}

func openNamespace(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	var about unix.Statfs_t
	err = unix.Fstatfs(int(f.Fd()), &about)
	if err == nil && about.Type != unix.NSFS_MAGIC {
		err = fmt.Errorf("%s: %w", path, errStale)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Up makes the namespace and its bridge unless they exist. If it fails, it leaves no namespace. It replaces a namespace
// whose bridge is not ready, as a killed lab leaves it.
func (n Namespace) Up(ctx context.Context) error {
	exists, err := n.exists()
	if err != nil {
		return err
	}
	if exists {
		ready, err := n.hasBridge()
		if err != nil || ready {
			return err
		}
		if err := n.Down(ctx); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"netns", "add", string(n)},
		{"-n", string(n), "link", "set", "lo", "up"},
		{"-n", string(n), "link", "add", Bridge, "type", "bridge", "forward_delay", "0", "stp_state", "0"},
		{"-n", string(n), "addr", "add", spec.Gateway + "/24", "dev", Bridge},
		{"-n", string(n), "link", "set", Bridge, "up"}, // the last, so that hasBridge shows that all commands have run
	} {
		if err := runIP(ctx, args...); err != nil {
			return errors.Join(err, n.Down(context.WithoutCancel(ctx))) // after Ctrl-C, too
		}
	}
	return nil
}

// hasBridge reports whether the namespace has the bridge, up and with its address.
func (n Namespace) hasBridge() (ready bool, err error) {
	err = n.Do(func() error {
		all, err := net.Interfaces()
		if err != nil {
			return fmt.Errorf("list interfaces of network namespace %s: %w", n, err)
		}
		i := slices.IndexFunc(all, func(i net.Interface) bool { return i.Name == Bridge && i.Flags&net.FlagUp != 0 })
		if i < 0 {
			return nil
		}
		addresses, err := all[i].Addrs()
		ready = slices.ContainsFunc(addresses, func(a net.Addr) bool { return a.String() == spec.Gateway+"/24" })
		return err
	})
	return ready, err
}

// Down removes the namespace and everything in it.
func (n Namespace) Down(ctx context.Context) error {
	if exists, err := n.exists(); err != nil || !exists {
		return err
	}
	return runIP(ctx, "netns", "del", string(n))
}

// runIP runs ip(8). Tests replace it.
var runIP = func(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Do calls fn on a thread inside the namespace. Processes and sockets that fn
// opens stay in the namespace. Goroutines that fn starts do not.
func (n Namespace) Do(fn func() error) (err error) {
	var wg conc.WaitGroup
	wg.Go(func() { err = n.doOnThread(fn) })
	wg.Wait()
	return err
}

// doOnThread calls fn on a locked thread. If the thread cannot return to the
// outer namespace, it stays locked and ends with its goroutine.
func (n Namespace) doOnThread(fn func() error) error {
	runtime.LockOSThread()
	outer, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("open own network namespace: %w", err)
	}
	defer func() { _ = outer.Close() }()
	if err := n.enterOnThread(); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	err = fn()
	if unix.Setns(int(outer.Fd()), unix.CLONE_NEWNET) == nil {
		runtime.UnlockOSThread()
	}
	return err
}

func (n Namespace) enterOnThread() error {
	f, err := openNamespace(n.path())
	if err != nil {
		return fmt.Errorf("open network namespace (is the lab up?): %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace %s: %w", n, err)
	}
	return nil
}

// DialContext opens a connection from inside the namespace. The address must be
// numeric, because the lab has no name service.
func (n Namespace) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	var conn net.Conn
	err := n.Do(func() (err error) {
		var d net.Dialer
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// Start starts cmd inside the namespace.
func (n Namespace) Start(cmd *exec.Cmd) error { return n.Do(cmd.Start) }

// Exec replaces the calling process by argv inside the namespace. It returns only
// if there is an error.
func (n Namespace) Exec(argv []string) error {
	file, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("find command: %w", err)
	}
	return n.Do(func() error {
		return fmt.Errorf("run %s: %w", file, syscall.Exec(file, argv, os.Environ()))
	})
}

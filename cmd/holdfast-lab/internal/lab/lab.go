// Package lab runs real test hosts on one machine: hosts with systemd, sshd, a
// booted ostree deployment and, on members, etcd with TLS, in a private network.
// The commands of holdfast-lab and its scenarios use this package. All functions
// that change hosts need root.
package lab

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/host"
	"holdfast/cmd/holdfast-lab/internal/image"
	"holdfast/cmd/holdfast-lab/internal/netns"
	"holdfast/cmd/holdfast-lab/internal/pki"
	"holdfast/cmd/holdfast-lab/internal/spec"
)

// DefaultDir is the default folder of a lab.
const DefaultDir = "/var/lib/holdfast-lab"

// ErrDown means that there is no lab.
var ErrDown = errors.New(`the lab is not up; "holdfast-lab up" brings it up`)

// Logf prints messages about slow steps.
type Logf func(format string, args ...any)

// Lab is the lab in one folder.
type Lab struct {
	dir   string
	log   Logf
	state state
	// self installs this program in the lab, once, and returns its path.
	self func() (string, error)
	// suite is the suite of the next lab, if there is none now; "" means the
	// default.
	suite image.Suite
	// space is the network of this lab.
	space netns.Namespace
	// others has the CAs that a scenario has added, each with a client
	// certificate.
	others []pki.Identity
}

// Options determine how Up makes hosts.
type Options struct {
	// Kind is the kind of the hosts; host.OnLoop by default.
	Kind host.Kind `json:"kind"`
	// Suite is the suite of the hosts; image.DefaultSuite by default.
	Suite image.Suite `json:"suite,omitempty"`
	// Size is the disk size of loop hosts; "4G" by default. Disks overrides it
	// for single hosts.
	Size  string            `json:"size"`
	Disks map[string]string `json:"disks,omitempty"`
	// Post is how long the firmware takes before each boot except the first.
	Post time.Duration `json:"post,omitempty"`
	// BMC serves Redfish for the hosts.
	BMC bool `json:"bmc,omitempty"`
}

// state is saved between commands.
type state struct {
	Spec    spec.Spec `json:"spec"`
	Options Options   `json:"options"`
	// HostKeys are the SSH keys of the hosts. User is the key that can log in.
	HostKeys map[string]key `json:"host_keys"`
	User     key            `json:"user"`
}

type key struct {
	Private string `json:"private"`
	Public  string `json:"public"`
}

// Open reads the lab in dir. The folder need not exist yet.
func Open(dir string, log Logf) (*Lab, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open lab: %w", err)
	}
	if log == nil {
		log = func(string, ...any) {}
	}
	l := &Lab{dir: abs, log: log, space: netns.Namespace(nameOf(abs))}
	l.self = sync.OnceValues(l.installSelf)
	return l, l.loadState()
}

const namePrefix = "holdfast-lab"

// nameOf returns the name of the network namespace and of the control group of
// the lab in a folder. The names of different folders differ, so that labs do not
// affect each other.
func nameOf(dir string) string {
	if dir == DefaultDir {
		return namePrefix
	}
	return fmt.Sprintf("%s-%x", namePrefix, sha256.Sum256([]byte(dir)))[:len(namePrefix)+9]
}

func (l *Lab) path(elem ...string) string {
	return filepath.Join(append([]string{l.dir}, elem...)...)
}

func (l *Lab) loadState() error {
	raw, err := os.ReadFile(l.path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		l.state = state{}
		return nil
	}
	if err != nil {
		return fmt.Errorf("open lab: %w", err)
	}
	if err := json.Unmarshal(raw, &l.state); err != nil {
		return fmt.Errorf("open lab: %w", err)
	}
	return nil
}

func (l *Lab) saveState() error {
	raw, err := json.MarshalIndent(l.state, "", "  ")
	if err != nil {
		return fmt.Errorf("save lab: %w", err)
	}
	if err := os.WriteFile(l.path(stateName+".new"), raw, 0o600); err != nil {
		return fmt.Errorf("save lab: %w", err)
	}
	return os.Rename(l.path(stateName+".new"), l.path(stateName))
}

func (l *Lab) lockLab(ctx context.Context) (func(), error) {
	if err := checkOwnFolder(l.dir); err != nil {
		return nil, err
	}
	if os.Geteuid() != 0 {
		return nil, errors.New("change lab: this needs root")
	}
	if err := l.Claim(); err != nil {
		return nil, err
	}
	f, err := l.openOwnFile(lockName, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("lock lab: %w", err)
	}
	for told := false; unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil; told = true {
		if !told {
			l.log("wait for another holdfast-lab to finish")
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("lock lab: %w", ctx.Err()), f.Close())
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := l.loadState(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// Logf prints a message about a slow step.
func (l *Lab) Logf(format string, args ...any) { l.log(format, args...) }

// IsUp reports whether there are hosts, with or without power.
func (l *Lab) IsUp() bool { return len(l.state.Spec.Hosts) > 0 }

// Spec returns the description of the hosts.
func (l *Lab) Spec() spec.Spec { return l.state.Spec }

// Site returns the folder with the inventory, known_hosts and SSH key for
// holdfast.
func (l *Lab) Site() string { return l.path("site") }

// Host finds a host by name.
func (l *Lab) Host(name string) (*Host, error) {
	if !l.IsUp() {
		return nil, ErrDown
	}
	h, ok := l.state.Spec.Host(name)
	if !ok {
		return nil, fmt.Errorf("find host %s: the lab has no such host", name)
	}
	return l.newHost(h), nil
}

// Hosts returns all hosts in the order of the inventory.
func (l *Lab) Hosts() []*Host {
	hosts := make([]*Host, 0, len(l.state.Spec.Hosts))
	for _, h := range l.state.Spec.Hosts {
		hosts = append(hosts, l.newHost(h))
	}
	return hosts
}

func (l *Lab) newHost(h spec.Host) *Host {
	return &Host{Host: h, lab: l, folder: host.Folder(l.path("hosts", h.Name))}
}

// DialContext opens a connection from inside the lab's network.
func (l *Lab) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return l.space.DialContext(ctx, network, address)
}

// Start starts a command inside the lab's network.
func (l *Lab) Start(cmd *exec.Cmd) error { return l.space.Start(cmd) }

// Replace replaces this process by argv inside the lab's network. It returns only
// if there is an error.
func (l *Lab) Replace(argv []string) error {
	if !l.IsUp() {
		return ErrDown
	}
	return l.space.Exec(argv)
}

// Exec runs a command inside the lab's network. It returns stdout and stderr
// together.
func (l *Lab) Exec(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := l.Start(cmd); err != nil {
		return nil, fmt.Errorf("run %s: %w", argv[0], err)
	}
	err := cmd.Wait()
	return out.Bytes(), err
}

// Suite returns the suite that the hosts run. Without hosts, it returns the suite
// that they will run.
func (l *Lab) Suite() image.Suite {
	if l.IsUp() {
		return cmp.Or(l.state.Options.Suite, image.DefaultSuite)
	}
	return cmp.Or(l.suite, image.DefaultSuite)
}

func (l *Lab) setSuite(s image.Suite) { l.suite = s }

func (l *Lab) imageStore() image.Store {
	return image.Store{Dir: l.path(imageName(l.Suite())), Suite: l.Suite(), URL: "http://" + repoAddress + "/", Log: l.log}
}

// Commits returns the first two versions of the operating system. Hosts start
// with v1. v2 is the update.
func (l *Lab) Commits() (v1, v2 string, err error) {
	versions, err := l.Versions()
	if err != nil {
		return "", "", err
	}
	if len(versions) < 2 {
		return "", "", ErrDown
	}
	return versions[0].Commit, versions[1].Commit, nil
}

// Versions returns all versions of the operating system, oldest first.
func (l *Lab) Versions() ([]image.Version, error) { return l.imageStore().Versions() }

// Repository returns the folder with the OS repository, which is in archive mode.
func (l *Lab) Repository() string { return l.imageStore().Repo() }

// Commit makes another version. It returns the commit of this version.
func (l *Lab) Commit(ctx context.Context, version string, changes image.Changes) (string, error) {
	unlock, err := l.lockLab(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if err := l.buildImage(ctx, l.imageStore()); err != nil {
		return "", err
	}
	v, err := l.imageStore().Commit(ctx, version, changes)
	return v.Commit, err
}

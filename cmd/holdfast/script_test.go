package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"

	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/longtest"
	"holdfast/engine/pathtest"
)

// TestMain makes the program a command of the scripts. If the tests run under
// nohup, or in a CI that ignores SIGHUP, the commands must not inherit that: a
// signal that is caught here has its default action in the commands.
func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if slices.Equal(os.Args, []string{"holdfast", "hang-in-tests"}) {
		hangingProgram()
	}
	if len(os.Args) > 1 && os.Args[0] == "holdfast" && os.Args[1] == "measure-in-tests" {
		measureProgram()
	}
	if len(os.Args) == 4 && os.Args[0] == "holdfast" && os.Args[1] == "log-in-in-tests" {
		logInProgram(os.Args[2], os.Args[3])
	}
	testscript.Main(guarded{m}, map[string]func(){"holdfast": main})
}

// guarded are the tests, with traps in their PATH.
type guarded struct{ tests testscript.TestingM }

func (g guarded) Run() int {
	longtest.CollectRarely()
	return pathtest.Run(g.tests)
}

// TestScripts runs the real program against hosts on loopback addresses. These hosts run real
// scripts with sh and the fake tools of package modules. In addition to the commands of testscript,
// scripts can use these:
//
//	host NAME [KEY=VALUE…]   starts a host and adds it to site/hosts.hcl, see hostOf
//	halt NAME                stops the host: nothing listens at its address any more
//	lockkey FILE PASSPHRASE  makes a locked private key, which later hosts accept
//	exits CODE COMMAND…      like exec; the exit code must be CODE
//	interrupt CODE WHEN …    types Ctrl-C on a terminal; the exit code must be CODE
//	session CODE …           is at a terminal that is not the one of its session; the exit code must be CODE
//	hangup CODE FILE …       closes the terminal when FILE exists; the exit code must be CODE
//	connections NAME N       requires that the host has received N connections
//	snapshot FILE            writes a snapshot of a real etcd cluster
//	registry                 starts a registry with an image, see startRegistry
//
// The condition [slow] is true if slow tests must run, see package longtest.
func TestScripts(t *testing.T) {
	t.Parallel()
	params := testscript.Params{
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		ContinueOnError:     os.Getenv("EXPLORE") != "",
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:               setUp,
		Condition:           holdsInScript,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"host": startHost, "halt": haltHost, "lockkey": lockKey, "exits": cmdExits, "connections": cmdConnections, "interrupt": cmdInterrupt, "hangup": hangUp, "answer": cmdAnswer, "session": inSession, "registry": startRegistry, "snapshot": saveSnapshot(t),
		},
	}
	onDisk, inMemory := listScripts(t)
	params.Files = onDisk
	testscript.Run(t, params)
	params.Files, params.WorkdirRoot = inMemory, longtest.DirInMemory(t)
	testscript.Run(t, params)
}

// listScripts returns the scripts that configure paths of a host, which are paths below the folder of the script, and the
// other scripts. The program refuses to configure paths below /dev, where folders in memory are.
func listScripts(t *testing.T) (onDisk, inMemory []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d scripts, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasPrefix(filepath.Base(file), "config-") {
			onDisk = append(onDisk, file)
		} else {
			inMemory = append(inMemory, file)
		}
	}
	return onDisk, inMemory
}

func holdsInScript(condition string) (bool, error) {
	if condition == "slow" {
		return longtest.Slow(), nil
	}
	return false, fmt.Errorf("unknown condition %q", condition)
}

// fleet has the hosts of a script, and the key that can log in to them.
type fleet struct {
	hosts map[string]*testHost
	key   ssh.PublicKey
}

type fleetKey struct{}

func setUp(env *testscript.Env) error {
	site := filepath.Join(env.WorkDir, "site")
	if err := os.MkdirAll(site, 0o755); err != nil {
		return err
	}
	private, key, err := newKey("")
	if err != nil {
		return err
	}
	env.Values[fleetKey{}] = &fleet{hosts: map[string]*testHost{}, key: key}
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "home", "state"))
	env.Setenv("HOLDFAST_INVENTORY", site)
	env.Setenv("SSH_AUTH_SOCK", "")
	env.Setenv("GOGC", "800") // the program runs hundreds of times, each time for milliseconds; collecting garbage takes a quarter of them
	return errors.Join(
		writeUnlessExists(filepath.Join(site, "site.hcl"), defaultSite),
		os.WriteFile(filepath.Join(site, "id"), private, 0o600),
		os.WriteFile(filepath.Join(site, "known_hosts"), nil, 0o600),
	)
}

// defaultSite is site/site.hcl for scripts that have none.
const defaultSite = `site "test" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"
    identity    = "id"
    become      = "sudo"
    ssh_config  = "none"
  }
}

pool "worker" {
  os {
    driver = "ostree"
    remote = "lab"
    ref    = "lab/stable"
    commit = "` + v2 + `"
  }
}
`

func writeUnlessExists(path, text string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	return os.WriteFile(path, []byte(text), 0o600)
}

// newKey makes a private key file, which is locked unless the passphrase is
// empty.
func newKey(passphrase string) ([]byte, ssh.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return nil, nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "test")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "test", []byte(passphrase))
	}
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(block), key, nil
}

func fleetOf(ts *testscript.TestScript) *fleet { return ts.Value(fleetKey{}).(*fleet) }

func startHost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: host NAME [KEY=VALUE…]")
	}
	h, err := hostOf(ts, args[0], args[1:])
	ts.Check(err)
	fleetOf(ts).hosts[args[0]] = h
	ts.Defer(h.server.Close)
}

func haltHost(ts *testscript.TestScript, _ bool, args []string) {
	s := hostOfArg(ts, args).server
	s.Close()
	reservePort(ts, s.Addr())
}

// reservePort binds an address without listening there, so that no server of another test gets it. It does nothing if the address
// cannot be bound, such as while an ended connection is remembered.
func reservePort(ts *testscript.TestScript, address string) {
	addr, err := netip.ParseAddrPort(address)
	ts.Check(err)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	ts.Check(err)
	ts.Defer(func() { _ = syscall.Close(fd) })
	_ = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()})
}

func hostOfArg(ts *testscript.TestScript, args []string) *testHost {
	if len(args) == 0 || fleetOf(ts).hosts[args[0]] == nil {
		ts.Fatalf("no such host: %v", args)
	}
	return fleetOf(ts).hosts[args[0]]
}

func lockKey(ts *testscript.TestScript, _ bool, args []string) {
	private, key, err := newKey(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), private, 0o600))
	fleetOf(ts).key = key
}

func saveSnapshot(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		cluster := etcdtest.Start(t, 1, etcdtest.Options{})
		_, err := cluster.Client(t).Put(etcdtest.Context(t), "key", "value")
		ts.Check(err)
		member := cluster.Members[0]
		member.Stop()
		data, err := os.ReadFile(filepath.Join(member.Dir(), "member", "snap", "db"))
		ts.Check(err)
		sum := sha256.Sum256(data)
		ts.Check(os.WriteFile(ts.MkAbs(args[0]), append(data, sum[:]...), 0o600))
	}
}

func cmdConnections(ts *testscript.TestScript, _ bool, args []string) {
	if got := strconv.Itoa(hostOfArg(ts, args).server.Connections()); len(args) != 2 || got != args[1] {
		ts.Fatalf("%s connections, want %v", got, args[1:])
	}
}

func cmdExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("%s: exit status %d, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine"
	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
	"holdfast/engine/rollout"
	"holdfast/engine/textutil"
	"holdfast/modules/hostconfig/observe"
)

// hostAt returns an inventory host for a server.
func hostAt(name string, s *sshtest.Server) engine.Host {
	return engine.Host{Name: name, Address: "127.0.0.1", SSH: engine.SSH{
		User: "core", Port: s.Port(), Identities: []string{s.Identity}, SSHConfig: "none", KnownHosts: []string{s.KnownHosts}, Become: "sudo",
		ConnectTimeout: engine.Duration(time.Minute),
	}}
}

// TestConnectWaits checks that a caller that waits for the connection of
// another caller stops when its context ends.
func TestConnectWaits(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Silent: true})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	h := hostAt("h1", s)
	first, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := hosts.Connect(first, h)
		ended <- err
	}()
	s.AwaitConnections(1)
	second, cancelSecond := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("time is up"))
	defer cancelSecond()
	began := time.Now()
	if _, err := hosts.Connect(second, h); err == nil || !strings.Contains(err.Error(), "time is up") {
		t.Error(err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	cancel()
	<-ended
}

// TestCloseWhileAHostIsDialed checks that Close ends if a connection is opened meanwhile, and that later callers get none.
func TestCloseWhileAHostIsDialed(t *testing.T) {
	t.Parallel()
	logins, release := make(chan struct{}, 8), make(chan struct{})
	s := sshtest.Start(t, sshtest.Config{})
	jump := sshtest.Start(t, sshtest.Config{Connect: func(address string) (net.Conn, error) {
		logins <- struct{}{}
		<-release
		return net.Dial("tcp", address)
	}})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	h := hostAt("h1", s)
	h.SSH.ProxyJump = "core@" + jump.Addr()
	h.SSH.Identities, h.SSH.KnownHosts = append(h.SSH.Identities, jump.Identity), append(h.SSH.KnownHosts, jump.KnownHosts)
	var work conc.WaitGroup
	work.Go(func() { _, _ = hosts.Connect(t.Context(), h) }) // it may succeed or not
	<-logins
	work.Go(hosts.Close)
	for !hosts.isClosed() {
		runtime.Gosched()
	}
	close(release)
	work.Wait()
	if _, err := hosts.Connect(t.Context(), h); !errors.Is(err, errClosed) {
		t.Error(err)
	}
}

// TestConnectQuotesJumpHosts checks that the refusal of a jump host is one line that is safe for a terminal. The jump host decides about its text.
func TestConnectQuotesJumpHosts(t *testing.T) {
	t.Parallel()
	jump := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		return nil, errors.New("\x1b]0;x\a\nw-9: free" + strings.Repeat("!", 10<<10))
	}})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	h := hostAt("h1", jump)
	h.Address, h.SSH.Port, h.SSH.ProxyJump = "192.0.2.1", 22, "core@"+jump.Addr()
	_, err := hosts.Connect(t.Context(), h)
	var f *engine.Failure
	if !errors.As(err, &f) {
		t.Fatalf("%v is no failure", err)
	}
	if f.Cause != textutil.Printable(f.Cause) || strings.ContainsAny(f.Cause, "\n\t") || !strings.Contains(f.Cause, "w-9: free") {
		t.Errorf("cause %.200q", f.Cause)
	}
	if len(f.Cause) > 4096 {
		t.Errorf("the cause has %d bytes", len(f.Cause))
	}
}

// TestClustersOpenAlone checks that a cluster does not wait for another cluster
// whose host does not respond.
func TestClustersOpenAlone(t *testing.T) {
	t.Parallel()
	silent, well := sshtest.Start(t, sshtest.Config{Silent: true}), sshtest.Start(t, sshtest.Config{})
	tls := &engine.TLS{CA: "/nowhere/ca", Cert: "/nowhere/cert", Key: "/nowhere/key"}
	inv := engine.Inventory{Clusters: []engine.Cluster{{Name: "hangs", ClientPort: 1, TLS: tls}, {Name: "well", ClientPort: 1, TLS: tls}}}
	for cluster, s := range map[string]*sshtest.Server{"hangs": silent, "well": well} {
		h := hostAt(cluster+"-1", s)
		h.Cluster = cluster
		inv.Hosts = append(inv.Hosts, h)
	}
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	clusters := NewClusters(inv, hosts, t.TempDir(), "run")
	first, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		clusters.Gather(first, "hangs")
	}()
	silent.AwaitConnections(1)
	seen := make(chan string, 1)
	go func() { seen <- clusters.Gather(t.Context(), "well").Problem }()
	select {
	case problem := <-seen:
		if !strings.Contains(problem, "/nowhere/ca") {
			t.Errorf("problem %q", problem)
		}
	case <-ended:
		t.Error("it waited for the other cluster")
	}
	cancel()
	<-ended
}

// TestNobodyConnectsToLeavingHosts checks that a cluster is gathered without a connection to a host that leaves the site, whose voter
// still counts.
func TestNobodyConnectsToLeavingHosts(t *testing.T) {
	t.Parallel()
	for name, tls := range map[string]*engine.TLS{"with TLS": {CA: "/nowhere/ca", Cert: "/nowhere/cert", Key: "/nowhere/key"}, "without TLS": nil} {
		stays, leaves := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
		inv := engine.Inventory{Clusters: []engine.Cluster{{Name: "main", ClientPort: 1, TLS: tls}}, Hosts: []engine.Host{hostAt("leaves", leaves), hostAt("stays", stays)}}
		for i := range inv.Hosts {
			inv.Hosts[i].Cluster = "main"
		}
		inv.Hosts[0].Retired, inv.Hosts[0].Leaving = true, true
		hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
		defer hosts.Close()
		clusters := NewClusters(inv, hosts, t.TempDir(), "run")
		problem := clusters.Gather(t.Context(), "main").Problem
		if !strings.Contains(problem, "leaves: the inventory says that it is leaving") || leaves.Connections() != 0 || stays.Connections() == 0 {
			t.Errorf("%s: problem %q, %d connections to the host that leaves, %d to the other", name, problem, leaves.Connections(), stays.Connections())
		}
		if list := clusters.ScrapeMembers(t.Context(), "main"); len(list) != 1 || list[0].Host != "stays" {
			t.Errorf("%s: scraped %+v", name, list)
		}
		if _, err := clusters.Members("main").CheckReach(t.Context(), "leaves", stays.Addr()); err == nil || leaves.Connections() != 0 {
			t.Errorf("%s: %v, %d connections", name, err, leaves.Connections())
		}
	}
}

// TestCheckReach checks that a member tells whether it reaches another host, and that a member without a connection to the bastion tells
// nothing about that host.
func TestCheckReach(t *testing.T) {
	t.Parallel()
	up, down := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	blind := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
	}})
	down.Close()
	inv := engine.Inventory{Hosts: []engine.Host{hostAt("up", up), hostAt("blind", blind), hostAt("down", down)}}
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	members := NewClusters(inv, hosts, t.TempDir(), "run").Members("main")
	for from, want := range map[string]string{"up": "true", "blind": "true no route to host", "down": "false connect to", "other": `false "other" is not a host`} {
		known, err := members.CheckReach(t.Context(), from, down.Addr())
		if got := strings.TrimSuffix(fmt.Sprint(known, " ", err), " <nil>"); !strings.HasPrefix(got, want) || (err == nil) != (want == "true") {
			t.Errorf("%s: %s", from, got)
		}
	}
}

// TestLoginKinds checks that a new login which may not have reached sshd differs from one
// that sshd has refused.
func TestLoginKinds(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	closed, refused := hostAt("h1", s), hostAt("h2", s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.SSH.Port = l.Addr().(*net.TCPAddr).Port
	_ = l.Close() // nobody listens there from now on
	refused.SSH.Identities = nil
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	for h, unreachable := range map[string]bool{"h1": true, "h2": false} {
		host := map[string]engine.Host{"h1": closed, "h2": refused}[h]
		var f *engine.Failure
		_, err := hosts.Login(t.Context(), host, rollout.Script{Text: ":"})
		if !errors.As(err, &f) || (f.Kind == engine.UnreachableFailure) != unreachable {
			t.Errorf("%s: %v", h, err)
		}
	}
}

// TestSilence checks that only a host which has sent nothing at all counts as silent, because such a host may be reset.
func TestSilence(t *testing.T) {
	t.Parallel()
	up, mute, down := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{Silent: true}), sshtest.Start(t, sshtest.Config{})
	down.Close()
	away := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}
	}})
	cut := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ENETUNREACH)}
	}})
	strange := hostAt("h1", up)
	strange.SSH.Identities = nil
	hurried := hostAt("h1", mute)
	hurried.SSH.ConnectTimeout = engine.Duration(2 * time.Second)
	proxied := hostAt("h1", mute)
	proxied.SSH.SSHConfig = filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(proxied.SSH.SSHConfig, []byte("Host *\n ProxyCommand exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host   engine.Host
		script string // "": only a connection
		limit  time.Duration
		silent bool
	}{
		"no greeting":                 {host: hurried, silent: true},
		"no greeting until the end":   {host: hostAt("h1", mute), limit: 2 * time.Second, silent: true},
		"refused":                     {host: hostAt("h1", down)},
		"refused login":               {host: strange},
		"a script that takes long":    {host: hostAt("h1", up), script: "sleep 60"},
		"a ProxyCommand that fails":   {host: proxied},
		"a jump host that is down":    {host: throughJump(hostAt("h1", up), down)},
		"no route from the jump host": {host: throughJump(hostAt("h1", up), away), silent: true},
		"a jump host without network": {host: throughJump(hostAt("h1", up), cut)},
		"refused at the jump host":    {host: throughJump(hostAt("h1", down), up)},
		"a mute jump host":            {host: throughJump(hostAt("h1", up), mute), limit: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
			defer hosts.Close()
			ctx := t.Context()
			if c.limit > 0 {
				limited, cancel := context.WithTimeout(ctx, c.limit)
				defer cancel()
				ctx = limited
			}
			conn, err := hosts.Connect(ctx, c.host)
			if err == nil && c.script != "" {
				_, err = conn.Run(ctx, rollout.Script{Text: c.script, Timeout: 100 * time.Millisecond})
			}
			var f *engine.Failure
			if !errors.As(err, &f) || f.Silent != c.silent {
				t.Errorf("%v, want a failure with silent %t", err, c.silent)
			}
		})
	}
}

// throughJump returns the host behind a jump host.
func throughJump(h engine.Host, jump *sshtest.Server) engine.Host {
	h.SSH.ProxyJump = "core@" + jump.Addr()
	h.SSH.Identities, h.SSH.KnownHosts = append(h.SSH.Identities, jump.Identity), append(h.SSH.KnownHosts, jump.KnownHosts)
	return h
}

// oldPassword are secrets with a password that hosts do not accept any more.
type oldPassword struct{ remote.Secrets }

func (oldPassword) BecomePassword(context.Context, string) ([]byte, error) { return []byte("old"), nil }

// TestVisitsTryAPasswordOnce checks that each host is given a wrong password of sudo once, however often it is visited: hosts
// lock accounts after a few wrong passwords.
func TestVisitsTryAPasswordOnce(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:right"})
	hosts := NewHosts(remote.Options{Agent: "none", Secrets: oldPassword{}}, observe.ReadFileScript)
	defer hosts.Close()
	for range 3 {
		c, err := Visits{hosts}.Connect(t.Context(), hostAt("h1", s))
		if err != nil {
			t.Fatal(err)
		}
		f := new(engine.Failure)
		if _, err := c.Run(t.Context(), rollout.Script{Text: "true"}); !errors.As(err, &f) || string(f.Kind) != remote.SudoPassword.String() {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(filepath.Join(s.Dir, "sudo-got")); string(got) != "old\n" {
		t.Errorf("sudo was given %q (%v)", got, err)
	}
}

// TestVisits checks that each script has a connection of its own, which ends with the script, but for hosts of etcd clusters.
func TestVisits(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Exec: func(string, io.Reader, io.Writer, io.Writer) int { return 0 }})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	for n := range 2 {
		c, err := Visits{hosts}.Connect(t.Context(), hostAt("h1", s))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Run(t.Context(), rollout.Script{Text: "true"}) // the server starts no script
		<-c.(visit).host.Done()
		if s.Connections() != n+1 {
			t.Errorf("%d connections for %d scripts", s.Connections(), n+1)
		}
	}
	member := hostAt("m1", s)
	member.Cluster = "main"
	for range 2 {
		if _, err := (Visits{hosts}).Connect(t.Context(), member); err != nil {
			t.Fatal(err)
		}
	}
	if s.Connections() != 3 {
		t.Errorf("a host of an etcd cluster got %d connections; want the one through which the cluster is asked", s.Connections()-2)
	}
	hosts.Close()
	if _, err := (Visits{hosts}).Connect(t.Context(), hostAt("h1", s)); !errors.Is(err, errClosed) {
		t.Errorf("after the end of the run: %v", err)
	}
}

// TestRefusedLogins checks that a run which waits for a host that refuses logins tries rarely enough for OpenSSH, which drops the
// connections of an address once its refused logins have added up to more than 15 s, 5 s for each. A host refuses them while it
// boots, too (pam_nologin).
func TestRefusedLogins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server       sshtest.Config
		user, reason string
	}{
		"an unknown user":   {user: "nobody", reason: "no key was accepted"},
		"a host that boots": {server: sshtest.Config{CutLogins: true}, user: "core", reason: "log in as core@"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := sshtest.Start(t, c.server)
			now := time.Now()
			hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
			hosts.now = func() time.Time { return now }
			defer hosts.Close()
			h := hostAt("h1", s)
			h.SSH.User = c.user
			var penalty, last time.Duration
			for at := time.Duration(0); at <= time.Minute; at += 500 * time.Millisecond {
				logins := s.Connections()
				_, err := hosts.Connect(t.Context(), h)
				if err == nil || !strings.Contains(err.Error(), c.reason) {
					t.Fatalf("after %s: %v", at, err)
				}
				if s.Connections() > logins {
					penalty, last = max(0, penalty-(at-last))+5*time.Second, at
				}
				if penalty > 15*time.Second {
					t.Fatalf("%d logins within %s are a penalty of %s", s.Connections(), at, penalty)
				}
				now = now.Add(500 * time.Millisecond)
			}
			if n := s.Connections(); n < 10 || n > 13 {
				t.Errorf("%d logins within a minute", n)
			}
		})
	}
}

// TestLoginAfterRefusals checks that a host which accepts logins again is connected, and that another host does not wait for it.
func TestLoginAfterRefusals(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{})
	now := time.Now()
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	hosts.now = func() time.Time { return now }
	defer hosts.Close()
	strange := hostAt("h1", s)
	strange.SSH.User = "nobody"
	for range freeRefusals {
		if _, err := hosts.Connect(t.Context(), strange); err == nil {
			t.Fatal("it is connected")
		}
	}
	if _, err := hosts.Connect(t.Context(), hostAt("h1", s)); err == nil {
		t.Error("it did not wait")
	}
	if _, err := hosts.Connect(t.Context(), hostAt("h2", s)); err != nil {
		t.Errorf("another host: %v", err)
	}
	if _, err := hosts.Login(t.Context(), hostAt("h1", s), rollout.Script{Text: ":"}); err != nil {
		t.Errorf("a new login, which tells whether the host can be reached: %v", err)
	}
	now = now.Add(remote.RefusalPause)
	if _, err := hosts.Connect(t.Context(), hostAt("h1", s)); err != nil {
		t.Errorf("the host accepts logins again: %v", err)
	}
}

// TestRefusedConnections checks that a host whose sshd does not listen is asked each time.
func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	asked, to := make(chan struct{}, 64), sshtest.Start(t, sshtest.Config{})
	jump := sshtest.Start(t, sshtest.Config{Connect: func(string) (net.Conn, error) {
		asked <- struct{}{}
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}})
	hosts := NewHosts(remote.Options{Agent: "none"}, observe.ReadFileScript)
	defer hosts.Close()
	for range 8 {
		if _, err := hosts.Connect(t.Context(), throughJump(hostAt("h1", to), jump)); err == nil {
			t.Fatal("it is connected")
		}
	}
	if len(asked) != 8 {
		t.Errorf("it was asked %d times", len(asked))
	}
}

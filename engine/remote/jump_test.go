package remote_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshconfig"
	"holdfast/engine/remote/sshtest"
)

// targetBehind returns the Target for to through jump hosts.
func targetBehind(to *sshtest.Server, jumps ...*sshtest.Server) sshconfig.Target {
	t := targetOf(to)
	var hops []string
	for _, j := range jumps {
		hops = append(hops, "core@"+j.Addr())
		t.KnownHosts = append(t.KnownHosts, j.KnownHosts)
		t.Identities = append(t.Identities, j.Identity)
	}
	t.ProxyJump = strings.Join(hops, ",")
	return t
}

func TestJump(t *testing.T) {
	t.Parallel()
	a, b, c := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{})
	var wg conc.WaitGroup
	for range 4 { // at the same time
		one := targetBehind(c, a, b)
		one.ProxyJump, _, _ = strings.Cut(one.ProxyJump, ",") // with the same keys and known_hosts, so that both targets share the connection
		for _, to := range []sshconfig.Target{one, targetBehind(c, a, b)} {
			wg.Go(func() {
				h, err := d.Dial(context.Background(), to)
				if err != nil {
					t.Error(err)
					return
				}
				r, err := h.Run(context.Background(), remote.Command{Script: "pwd"})
				if string(r.Stdout) != c.Dir+"\n" || err != nil {
					t.Errorf("%q %v", r.Stdout, err)
				}
				_ = h.Close()
			})
		}
	}
	wg.Wait()
	if a.Connections() != 1 || b.Connections() != 1 || c.Connections() != 8 {
		t.Errorf("%d, %d and %d connections", a.Connections(), b.Connections(), c.Connections())
	}
}

func TestJumpConfig(t *testing.T) {
	t.Parallel()
	a, b, c := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{User: "bob"}), sshtest.Start(t, sshtest.Config{})
	to := targetBehind(c, a, b)
	to.ProxyJump = ""
	to.Config = writeFile(t, "config", fmt.Sprintf(`
Host outer
  HostName 127.0.0.1
  Port %d
  User core
Host inner
  HostName 127.0.0.1
  Port %d
  User bob
Host *
  ProxyJump inner
Host inner
  ProxyJump outer
`, a.Port(), b.Port()))
	// OpenSSH uses the first value of ProxyJump, which is inner. A host is not its own jump host, so inner is reached
	// directly.
	dialTarget(t, newDialer(t, remote.Options{}), to)
	if a.Connections() != 0 || b.Connections() != 1 || c.Connections() != 1 {
		t.Errorf("%d, %d and %d connections", a.Connections(), b.Connections(), c.Connections())
	}
	to.ProxyJump = "none"
	dialTarget(t, newDialer(t, remote.Options{}), to)
	if b.Connections() != 1 {
		t.Error("none is not none")
	}
	to.ProxyJump = "outer,inner"
	to.Config = writeFile(t, "config", strings.ReplaceAll(readFile(t, to.Config), "ProxyJump inner", "ProxyJump none"))
	dialTarget(t, newDialer(t, remote.Options{}), to)
	if a.Connections() != 1 || b.Connections() != 2 {
		t.Errorf("%d and %d connections", a.Connections(), b.Connections())
	}
}

func TestJumpFails(t *testing.T) {
	t.Parallel()
	jump, to := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	closed := sshtest.Start(t, sshtest.Config{})
	closed.Close()
	through := "127.0.0.1:" + fmt.Sprint(jump.Port())

	t.Run("jump host refuses", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{}), targetBehind(to, closed), remote.Refused, "h1: connect through jump host: 127.0.0.1: ", "refused")
	})
	t.Run("jump host is a stranger", func(t *testing.T) {
		x := targetBehind(to, jump)
		x.KnownHosts = x.KnownHosts[:1]
		dialRefused(t, newDialer(t, remote.Options{}), x, remote.HostKeyUnknown, "jump host")
	})
	t.Run("host refuses", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{}), targetBehind(closed, jump), remote.Refused, "h1: connect to", "through core@"+through, "refused")
	})
	t.Run("host without name", func(t *testing.T) {
		x := targetBehind(to, jump)
		x.Address = "no-such-host.invalid"
		dialRefused(t, newDialer(t, remote.Options{}), x, remote.Resolve, "Name or service not known")
	})
	t.Run("host hangs", func(t *testing.T) {
		x := targetBehind(sshtest.Start(t, sshtest.Config{Silent: true}), jump)
		x.ConnectTimeout = time.Second
		d := newDialer(t, remote.Options{})
		dialTarget(t, d, targetBehind(to, jump)) // on a busy machine, the jump host may need more than a second
		dialRefused(t, d, x, remote.Unreachable, "no SSH greeting")
	})
	t.Run("host is a stranger", func(t *testing.T) {
		x := targetBehind(to, jump)
		x.KnownHosts = x.KnownHosts[1:]
		dialRefused(t, newDialer(t, remote.Options{}), x, remote.HostKeyUnknown, "h1: check host key of 127.0.0.1:")
	})
	t.Run("no forwarding", func(t *testing.T) {
		dialRefused(t, newDialer(t, remote.Options{}), targetBehind(to, sshtest.Start(t, sshtest.Config{NoForward: true})), remote.Forward, "AllowTcpForwarding")
	})
	t.Run("loop", func(t *testing.T) {
		x := targetOf(to)
		x.Config = writeFile(t, "config", "Host a\n ProxyJump b\nHost b\n ProxyJump a\nHost *\n ProxyJump a\n")
		dialRefused(t, newDialer(t, remote.Options{}), x, remote.Config, "name each other")
	})
}

// TestJumpDown checks that hosts behind a dead jump host wait once for its
// timeout, not one after the other.
func TestJumpDown(t *testing.T) {
	t.Parallel()
	silent, to := sshtest.Start(t, sshtest.Config{Silent: true}), sshtest.Start(t, sshtest.Config{})
	x := targetBehind(to, silent)
	x.ConnectTimeout = 300 * time.Millisecond
	d := newDialer(t, remote.Options{})
	var wg conc.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := d.Dial(context.Background(), x); remote.KindOf(err) != remote.Unreachable {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if silent.Connections() != 1 {
		t.Errorf("%d connections", silent.Connections())
	}
}

// TestJumpLost checks that the hosts behind a lost jump host are lost, too, and
// that the next Dial connects to the jump host again.
func TestJumpLost(t *testing.T) {
	t.Parallel()
	jump, to := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{})
	h := dialTarget(t, d, targetBehind(to, jump))
	jump.Drop()
	<-h.Done()
	_, err := h.Run(context.Background(), remote.Command{Script: "true"})
	checkError(t, err, remote.Lost)
	for { // the end of the jump host's own connection may be noticed a moment later
		again, err := d.Dial(context.Background(), targetBehind(to, jump))
		if err == nil {
			mustRun(t, again, remote.Command{Script: "true"})
			_ = again.Close()
			break
		}
		checkError(t, err, remote.Lost)
	}
}

// TestJumpLostWhileLoggingIn checks that the error names the jump host, not the host behind it, if the jump host
// disconnects during a login.
func TestJumpLostWhileLoggingIn(t *testing.T) {
	t.Parallel()
	jump, to := sshtest.Start(t, sshtest.Config{}), sshtest.Start(t, sshtest.Config{Silent: true})
	var wg conc.WaitGroup
	defer wg.Wait()
	wg.Go(func() { to.AwaitConnections(1); jump.Drop() })
	dialRefused(t, newDialer(t, remote.Options{}), targetBehind(to, jump), remote.Lost, "h1: connect to ", "the connection to the jump host ended")
}

// TestJumpRefusesLogins checks that the hosts behind a jump host that refuses the login do not try it one after the other:
// sshd would soon drop all connections from here.
func TestJumpRefusesLogins(t *testing.T) {
	t.Parallel()
	jump, to := sshtest.Start(t, sshtest.Config{User: "ann"}), sshtest.Start(t, sshtest.Config{})
	d := newDialer(t, remote.Options{})
	for range 4 {
		began := time.Now()
		dialRefused(t, d, targetBehind(to, jump), remote.Auth, "connect through jump host", "no key was accepted")
		time.Sleep(2 * time.Since(began))
	}
	if n := jump.Connections(); n != 1 {
		t.Errorf("%d logins at the jump host", n)
	}
}

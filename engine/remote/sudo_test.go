package remote_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sourcegraph/conc"

	"holdfast/engine/remote"
	"holdfast/engine/remote/sshtest"
)

const asRoot = `echo "root=$SSHTEST_ROOT"; cat`

func TestSudo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		config sshtest.Config
		asked  int
		given  string // input of sudo
	}{
		{"without password", sshtest.Config{Sudo: "nopasswd"}, 0, ""},
		{"with password", sshtest.Config{Sudo: "password:it's $ecret"}, 1, "it's $ecret\nit's $ecret\nit's $ecret\n"},
		{"with ticket", sshtest.Config{Sudo: "password:it's $ecret", Env: []string{"SSHTEST_TICKET=1"}}, 1, "it's $ecret\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sshtest.Start(t, c.config)
			asks := newSecrets()
			asks.password = "it's $ecret"
			h := dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), targetOf(s))
			for range 2 {
				r := mustRun(t, h, remote.Command{Script: asRoot, Become: true, Stdin: strings.NewReader("data\n")})
				if string(r.Stdout) != "root=1\ndata\n" || len(r.Stderr) > 0 {
					t.Errorf("%q %q", r.Stdout, r.Stderr)
				}
			}
			if len(asks.asked) != c.asked {
				t.Errorf("asked %d times, want %d", len(asks.asked), c.asked)
			}
			if got, err := os.ReadFile(filepath.Join(s.Dir, "sudo-got")); string(got) != c.given {
				t.Errorf("sudo read %q (%v), want %q", got, err, c.given)
			}
		})
	}
}

// TestWithoutDd: with noexec in sudoers, the shell starts and cannot start dd. The error names the cause; the network is fine.
func TestWithoutDd(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "nopasswd"})
	if err := os.WriteFile(filepath.Join(s.Dir, "bin", "dd"), []byte("#!/bin/sh\nexit 126\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	h := dialTarget(t, newDialer(t, remote.Options{Secrets: newSecrets()}), targetOf(s))
	r := mustRun(t, h, remote.Command{Script: "touch ran", Become: true})
	if r.Code == 0 || !strings.Contains(r.Stderr, "dd of coreutils does not run") || !strings.Contains(r.Stderr, "noexec") || strings.Contains(r.Stderr, "whole") {
		t.Errorf("%+v", r)
	}
}

func TestSudoRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, sudo, password string
		kind                 remote.Kind
		words                []string
		hidden               bool
	}{
		{"missing", "missing", "", remote.NoSudo, []string{"there is no sudo", "install it"}, false},
		{"not allowed", "denied:right", "right", remote.NoSudo, []string{"core may not", "not in the sudoers file"}, false},
		{"terminal", "tty", "", remote.NoSudo, []string{"requiretty"}, false},
		{"no password given", "password:right", "", remote.SudoPassword, []string{"wants a password", "NOPASSWD"}, false},
		{"wrong password", "password:right", "wrong", remote.SudoPassword, []string{"the password of core is wrong"}, false},
		{"several lines", "password:right", "right\nrm", remote.SudoPassword, []string{"a line break"}, false},
		{"prompt of its own", "hidden:right", "right", remote.NoSudo, []string{"did not start within", "Verification code:"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := sshtest.Start(t, sshtest.Config{Sudo: c.sudo})
			asks := newSecrets()
			asks.password = c.password
			o := remote.Options{Secrets: asks}
			if c.hidden {
				o.StartTimeout = 5 * time.Second // until then, also a busy machine has printed the prompt
			}
			h := dialTarget(t, newDialer(t, o), targetOf(s))
			for range 2 { // the second run must not ask again
				_, err := h.Run(context.Background(), remote.Command{Script: "touch ran", Become: true})
				text := checkError(t, err, c.kind, c.words...)
				if c.password != "" && strings.Contains(text, c.password+" ") {
					t.Errorf("%v tells the password", text)
				}
			}
			if n := len(asks.asked); n > 1 {
				t.Errorf("asked %d times", n)
			}
			if _, err := os.Stat(filepath.Join(s.Dir, "ran")); err == nil {
				t.Error("the script ran")
			}
			if got, _ := os.ReadFile(filepath.Join(s.Dir, "sudo-got")); strings.Count(string(got), "\n") > 2 {
				t.Errorf("sudo was given %q", got)
			}
		})
	}
}

// TestSudoWrongOnce checks that a wrong password is tried once, even if several commands become root at the same time.
// More tries could lock the account.
func TestSudoWrongOnce(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:right"})
	asks := newSecrets()
	asks.password = "wrong"
	h := dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), targetOf(s))
	var wg conc.WaitGroup
	for range 6 {
		wg.Go(func() {
			_, err := h.Run(context.Background(), remote.Command{Script: "true", Become: true})
			if remote.KindOf(err) != remote.SudoPassword {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(filepath.Join(s.Dir, "sudo-got")); string(got) != "wrong\n" {
		t.Errorf("sudo was given %q (%v)", got, err)
	}
}

// TestPasswordHidden checks that the password appears only on sudo's standard
// input.
func TestPasswordHidden(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:hunter2"})
	asks := newSecrets()
	asks.password = "hunter2"
	h := dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), targetOf(s))
	r := mustRun(t, h, remote.Command{Become: true, Script: `set; env; tr '\0' ' ' </proc/$$/cmdline; tr '\0' ' ' </proc/$PPID/cmdline; cat`})
	// SSHTEST_SUDO tells the fake sudo the password.
	for l := range strings.Lines(string(r.Stdout)) {
		if strings.Contains(l, "hunter2") && !strings.HasPrefix(l, "SSHTEST_SUDO=") && !strings.HasPrefix(l, "s=") {
			t.Errorf("%q", l)
		}
	}
}

func TestSudoNobodyToAsk(t *testing.T) {
	t.Parallel()
	s := sshtest.Start(t, sshtest.Config{Sudo: "password:right"})
	_, err := connect(t, s).Run(context.Background(), remote.Command{Script: "true", Become: true})
	checkError(t, err, remote.SudoPassword, "wants a password")

	asks := newSecrets()
	asks.err = errors.New("vault is sealed")
	_, err = dialTarget(t, newDialer(t, remote.Options{Secrets: asks}), targetOf(s)).
		Run(context.Background(), remote.Command{Script: "true", Become: true})
	checkError(t, err, remote.SudoPassword, "vault is sealed")
}

// Package pathtest keeps test hosts apart from the machine that runs the tests. A test host has a PATH with links to
// named, harmless tools and nothing else, so it is the same on every machine. The tests themselves run with traps in
// front of their PATH: a test that tries to start a program that changes or inspects the machine starts the trap
// instead, and fails.
package pathtest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// tools are the programs that the scripts for hosts, the fakes and the host commands of tests use. Link leaves out
// tools that the machine does not have.
var tools = strings.Fields(`
	[ awk base64 basename bash cat chattr chcon chmod chown cmp comm cp cut date dd dirname echo env expr false find flock
	getent grep head id install ln ls lsattr mkdir mkfifo mktemp mv nohup od paste printf pwd readlink realpath rm rmdir sed
	seq setsid sh sha256sum sleep sort stat stty sync tac tail tar tee test timeout touch tr true tty uname uniq wc which
	xargs yes`)

// trapped are programs that no test may start outside of a test host, because they change the machine or inspect it.
var trapped = strings.Fields(`
	bootc chgpasswd chpasswd crictl doas etcd etcdctl etcdutl gpasswd groupadd groupdel groupmod halt journalctl kexec
	kubectl loginctl mount ostree passwd pkexec podman poweroff reboot rpm-ostree run0 runuser setpriv shutdown sshd su sudo
	systemctl systemd-escape systemd-run umount useradd userdel usermod`)

// TestShell is the environment variable with a shell, for example bash, that is the sh of all test hosts.
const TestShell = "HOLDFAST_TEST_SHELL"

// Link fills a folder with links to the tools of a host.
func Link(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("link tools: %w", err)
	}
	for _, name := range tools {
		program := name
		if name == "sh" {
			program = cmp.Or(os.Getenv(TestShell), name)
		}
		path, err := exec.LookPath(program)
		if errors.Is(err, exec.ErrNotFound) && name != "sh" {
			continue
		}
		if err != nil {
			return fmt.Errorf("link tools: %w", err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("link tools: %w", err)
		}
	}
	return nil
}

// toolsDir is the folder that Tools returns.
var toolsDir string

// LinkFolder makes dir a link to the folder that Tools returns, because making a folder of links for each of many hosts takes
// long. Without a call of Run it fills a folder with links, as Link does.
func LinkFolder(dir string) error {
	if toolsDir == "" {
		return Link(dir)
	}
	if err := os.Symlink(toolsDir, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("link tools: %w", err)
	}
	return nil
}

// Tools returns a folder with links to the tools of a host. The folder is the PATH for scripts that run in a test's own
// folder. Tools works only after a call of Run.
func Tools() string {
	if toolsDir == "" {
		panic("pathtest.Tools is called without pathtest.Run in TestMain")
	}
	return toolsDir
}

// Shell returns the path of the sh that runs the scripts of hosts: the sh of the machine, or TestShell. A shell that
// starts as sh behaves as on hosts where it is /bin/sh.
func Shell() string {
	_ = os.Getenv(TestShell) // go test takes a result from its cache only if the variables are the same that tests have read
	return filepath.Join(Tools(), "sh")
}

// Tests are the tests of a package. *testing.M implements it.
type Tests interface{ Run() int }

// NoTraps is the environment variable that makes Run leave PATH unchanged. Use it to run tests on a machine that lacks
// the trapped programs.
const NoTraps = "HOLDFAST_TEST_NO_TRAPS"

// Run runs the tests of a package with traps in PATH and returns their exit status. If a test started a trap, Run
// returns 1.
func Run(m Tests) int {
	syscall.Umask(0o022) // scripts refuse to trust folders that a group can change, and with 002 each new one would be such
	dir, err := os.MkdirTemp("", "pathtest-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: make tools of test hosts:", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // a temporary folder
	calls := filepath.Join(dir, "calls")
	if err := errors.Join(Link(filepath.Join(dir, "tools")), setTraps(filepath.Join(dir, "traps"), calls)); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL: make tools of test hosts:", err)
		return 1
	}
	toolsDir = filepath.Join(dir, "tools")
	code := m.Run()
	if list, err := os.ReadFile(calls); !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "FAIL: the tests started programs of this machine, not of a test host:\n%s", list)
		return 1
	}
	return code
}

// setTraps puts programs in front of PATH that record their calls and fail.
func setTraps(dir, calls string) error {
	if os.Getenv(NoTraps) != "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	script := "#!/bin/sh\nprintf '%s %s\\n' \"${0##*/}\" \"$*\" >>'" + calls + "'\nexit 97\n"
	for _, name := range trapped {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

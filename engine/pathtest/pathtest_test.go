package pathtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/pathtest"
)

func TestMain(m *testing.M) { os.Exit(pathtest.Run(m)) }

// TestToolsHideTheMachine checks that no tool of a host acts on the machine,
// whatever programs are installed.
func TestToolsHideTheMachine(t *testing.T) {
	machine := t.TempDir()
	for _, name := range []string{"sudo", "ostree", "etcd", "systemctl", "rpm-ostree", "bootc", "reboot"} {
		if err := os.WriteFile(filepath.Join(machine, name), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", machine+":"+os.Getenv("PATH"))
	dir := filepath.Join(t.TempDir(), "bin")
	if err := pathtest.Link(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, pathtest.Tools()} {
		for _, name := range []string{"sudo", "ostree", "etcd", "systemctl", "rpm-ostree", "bootc", "reboot", "mount", "useradd", "sshd"} {
			cmd := exec.Command("sh", "-c", "command -v "+name)
			cmd.Env = []string{"PATH=" + path}
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("a test host has the machine's %s", out)
			}
		}
		cmd := exec.Command("sh", "-c", "for name in sh sed sha256sum tar; do command -v $name; done")
		cmd.Env = []string{"PATH=" + path}
		if out, err := cmd.CombinedOutput(); err != nil || strings.Count(string(out), path) != 4 {
			t.Errorf("a test host has only %s: %v", out, err)
		}
	}
}

// trapChild makes TestTrapsAreNoticed start a program of the machine.
const trapChild = "HOLDFAST_TEST_TRAP"

// TestTrapsAreNoticed checks that the package fails after a test has started a trapped program, even if the test
// ignores the program's exit status.
func TestTrapsAreNoticed(t *testing.T) {
	if os.Getenv(trapChild) != "" {
		_ = exec.Command("sudo", "reboot").Run()
		return
	}
	child := exec.Command(os.Args[0], "-test.run=^TestTrapsAreNoticed$")
	child.Env = append(os.Environ(), trapChild+"=yes")
	out, err := child.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "\nsudo reboot\n") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestTheShellOfHosts checks that all test hosts have the shell that TestShell names.
func TestTheShellOfHosts(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("this machine has no bash")
	}
	bash, err = filepath.EvalSymlinks(bash)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(pathtest.TestShell, "bash")
	dir := filepath.Join(t.TempDir(), "bin")
	if err := pathtest.Link(dir); err != nil {
		t.Fatal(err)
	}
	if shell, err := filepath.EvalSymlinks(filepath.Join(dir, "sh")); err != nil || shell != bash {
		t.Errorf("%s, %v", shell, err)
	}
	if pathtest.Shell() != filepath.Join(pathtest.Tools(), "sh") {
		t.Errorf("scripts run with %s", pathtest.Shell())
	}
}

// TestHostsHaveNoPathOfTheMachine checks that tests use this package for the PATH of hosts, and never the PATH of the
// machine.
func TestHostsHaveNoPathOfTheMachine(t *testing.T) {
	for _, pattern := range []string{"../*_test.go", "../*/*_test.go", "../*/*/*.go", "../../modules/*_test.go", "../../modules/*/*.go", "../../modules/*/*/*.go", "../../modules/*/*/*/*.go", "../../cmd/holdfast/internal/*/*.go", "../../cmd/holdfast/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), `os.Getenv("`+`PATH")`) && filepath.Base(filepath.Dir(file)) != "pathtest" {
				t.Errorf("%s gives out the machine's PATH; use pathtest.Tools() or pathtest.Link", file)
			}
		}
	}
}

// TestUmask checks that files of test hosts do not depend on the umask of the person who runs the tests.
func TestUmask(t *testing.T) {
	path := t.TempDir() + "/new"
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Stat(path); err != nil || f.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", f, err)
	}
}

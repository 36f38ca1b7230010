package netns

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// namespaceInFolder returns a namespace in a folder of the test.
func namespaceInFolder(t *testing.T) Namespace {
	old := folder
	folder = t.TempDir()
	t.Cleanup(func() { folder = old })
	return "holdfast-lab-test"
}

// recordIP replaces ip by a function that makes and removes the name of the namespace of this process, and returns the commands.
// fail may end a command with an error.
func recordIP(t *testing.T, n Namespace, fail func(command string) error) *[]string {
	old, commands := runIP, &[]string{}
	t.Cleanup(func() { runIP = old })
	runIP = func(ctx context.Context, args ...string) error {
		command := strings.Join(args, " ")
		*commands = append(*commands, command)
		if err := ctx.Err(); err != nil {
			return err
		}
		switch {
		case strings.HasPrefix(command, "netns add "):
			if err := os.Symlink("/proc/self/ns/net", n.path()); err != nil {
				return err
			}
		case strings.HasPrefix(command, "netns del "):
			return os.Remove(n.path())
		}
		return fail(command)
	}
	return commands
}

// TestFailedUpLeavesNothing: Ctrl-C between two commands must not leave a namespace without a bridge, which the next up would use.
func TestFailedUpLeavesNothing(t *testing.T) {
	for _, at := range []string{"netns add", "link set lo up", "link add", "addr add", "link set " + Bridge} {
		n := namespaceInFolder(t)
		ctx, cancel := context.WithCancel(t.Context())
		commands := recordIP(t, n, func(command string) error {
			if !strings.Contains(command, at) {
				return nil
			}
			cancel()
			return ctx.Err()
		})
		if err := n.Up(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", at, err)
		}
		if exists, err := n.exists(); err != nil || exists {
			t.Errorf("%s: the namespace exists %v, %v; commands %q", at, exists, err, *commands)
		}
	}
}

// TestUpMakesHalfANamespaceAnew: a killed lab cannot remove the namespace that it was making.
func TestUpMakesHalfANamespaceAnew(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("entering a namespace needs root")
	}
	n := namespaceInFolder(t)
	commands := recordIP(t, n, func(string) error { return nil })
	if err := os.Symlink("/proc/self/ns/net", n.path()); err != nil { // it has no bridge of a lab
		t.Fatal(err)
	}
	if err := n.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(*commands, "netns del "+string(n)) || !slices.Contains(*commands, "-n "+string(n)+" link set "+Bridge+" up") {
		t.Errorf("commands %q", *commands)
	}
}

// TestStaleNamespace checks a plain file under the name of a namespace, as after a restart of the
// machine. The error names the cause, and the namespace can still be made and removed.
func TestStaleNamespace(t *testing.T) {
	n := namespaceInFolder(t)
	if exists, err := n.exists(); err != nil || exists {
		t.Errorf("without a file: %v, %v", exists, err)
	}
	leave := func() {
		if err := os.WriteFile(n.path(), nil, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if all, err := List("holdfast-lab"); err != nil || len(all) > 0 {
		t.Errorf("list: %v, %v", all, err)
	}
	err := n.Do(func() error { t.Error("called"); return nil })
	if err == nil || !strings.Contains(err.Error(), n.path()) || !strings.Contains(err.Error(), "left by a lab that was killed") {
		t.Errorf("enter: %v", err)
	}
	if exists, err := n.exists(); err != nil || exists {
		t.Errorf("with a plain file: %v, %v", exists, err)
	}
	if _, err := os.Lstat(n.path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain file is still there: %v", err)
	}
	leave()
	if err := n.Down(t.Context()); err != nil {
		t.Errorf("down: %v", err)
	}
	if _, err := os.Lstat(n.path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the plain file is still there: %v", err)
	}
}

// TestOwnNamespaceIsOne checks that the namespace of this process is not taken
// for a plain file.
func TestOwnNamespaceIsOne(t *testing.T) {
	f, err := openNamespace("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
}

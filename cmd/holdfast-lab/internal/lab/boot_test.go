package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"holdfast/cmd/holdfast-lab/internal/spec"
)

// TestWaitUpEndsWithTheHost checks that WaitUp reports a host that ends during its boot
// immediately, not after the timeout. The error has the name of the host and the end of its
// console.
func TestWaitUpEndsWithTheHost(t *testing.T) {
	console := "old line\n" + strings.Repeat("some line\n", 100) + "\x1b[31mostree-prepare-root: exit 1\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"container": {
			map[string]string{"power.log": "1000 boot ostree-1.conf v1\n2000 exit 1\n", "console.log": console, "supervisor.log": ""},
			[]string{"wait for etcd-0: the host ended with status 1", "console.log:", "some line\n", `\x1b[31mostree-prepare-root: exit 1`},
		},
		"container without a console": {
			map[string]string{"power.log": "2000 exit 1\n"}, []string{"wait for etcd-0: the host ended with status 1", "the console log cannot be read: "},
		},
		"supervisor": {
			map[string]string{"power.log": "1000 boot ostree-1.conf v1\n2000 exit 133\n", "supervisor.log": "holdfast-lab: no loop device\n"},
			[]string{"wait for etcd-0: its supervisor ended: holdfast-lab: no loop device"},
		},
		"supervisor that has not printed its error yet": {
			map[string]string{"power.log": "2000 exit 133\n2001 fail no loop device\n", "supervisor.log": ""},
			[]string{"wait for etcd-0: its supervisor ended: no loop device"},
		},
		"killed supervisor": {
			map[string]string{"power.log": "1000 boot ostree-1.conf v1\n"}, []string{"wait for etcd-0: its supervisor ended without a message"},
		},
		"no log": {nil, []string{"wait for etcd-0: its supervisor ended without a message"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := labIn(t, t.TempDir())
			h := l.newHost(spec.Host{Name: "etcd-0", Index: 1})
			if err := os.MkdirAll(l.path("hosts/etcd-0"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(l.path("hosts/etcd-0"), file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for method, wait := range map[string]func() error{"WaitUp": func() error { return h.WaitUp(t.Context(), "") }, "WaitEtcd": func() error { return h.WaitEtcd(t.Context()) }} {
				err := wait()
				if err == nil {
					t.Fatalf("%s returned no error", method)
				}
				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v; want %q", method, err, want)
					}
				}
				if strings.Contains(err.Error(), "old line") {
					t.Errorf("%s repeats the whole console", method)
				}
			}
		})
	}
}

// TestWaitUpWaitsForALateSupervisor checks that WaitUp waits if a supervisor has the lock and does
// not answer yet: the host may still come up.
func TestWaitUpWaitsForALateSupervisor(t *testing.T) {
	l := labIn(t, t.TempDir())
	h := l.newHost(spec.Host{Name: "etcd-0", Index: 1})
	if err := os.MkdirAll(l.path("hosts/etcd-0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(l.path("hosts/etcd-0/power.log"), []byte("1000 exit 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(l.path("hosts/etcd-0/lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := h.checkPower(t.Context()); err != nil {
		t.Errorf("a host that is about to boot: %v", err)
	}
}

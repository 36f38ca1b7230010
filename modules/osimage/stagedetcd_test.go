package osimage

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/longtest"
	"holdfast/modules/moduletest"
)

// TestVersionOfStagedEtcd checks that the host asks the etcd of a staged OS for its version, inside
// the deployment and as nobody, if a unit runs the etcd of the OS. The host runs no other program
// of the staged OS.
func TestVersionOfStagedEtcd(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	for name, x := range map[string]struct {
		unit, path string // unit of the booted OS, and path of its etcd
		says       string // script of the staged etcd; "": the staged OS has no etcd
		want       string
	}{
		"of the OS":              {"etcd.service", "/usr/bin/etcd", "echo 'etcd Version: 3.6.4'\necho 'Git SHA: 1234567'", "3.6.4"},
		"another unit":           {"etcd-main.service", "/usr/libexec/etcd/etcd", "echo 'etcd Version: 3.5.16-rc.0'", "3.5.16-rc.0"},
		"in a container":         {"etcd.service", "/usr/bin/podman", "echo 'etcd Version: 3.6.4'", ""},
		"not of the OS":          {"etcd.service", "/usr/local/bin/etcd", "echo 'etcd Version: 3.6.4'", ""},
		"no etcd on the host":    {"chronyd.service", "/usr/bin/etcd", "echo 'etcd Version: 3.6.4'", ""},
		"gone from the new OS":   {"etcd.service", "/usr/bin/etcd", "", ""},
		"something else":         {"etcd.service", "/usr/bin/etcd", "echo usage >&2\nexit 64", ""},
		"a version that is none": {"etcd.service", "/usr/bin/etcd", "echo 'etcd Version: \x1b[31m'", ""},
		"much output":            {"etcd.service", "/usr/bin/etcd", "echo 'etcd Version: 3.6.4'; while :; do echo x; done", "3.6.4"},
	} {
		t.Run(name, func(t *testing.T) {
			longtest.SkipOthers(t, name, "of the OS", "not of the OS", "something else", "much output")
			t.Parallel()
			b := newOSHost(t)
			b.Write("units/"+x.unit, "active")
			b.Write("etcd-path", x.path)
			if x.says != "" {
				path := filepath.Join(b.Root, "ostree/deploy/lab/deploy", moduletest.V2+".0", x.path)
				b.Check(os.MkdirAll(filepath.Dir(path), 0o755))
				b.Check(os.WriteFile(path, []byte("#!/bin/sh\n"+x.says+"\n"), 0o755))
			}
			if f := b.gatherFacts(d); f.Booted().Etcd != "" || strings.Contains(b.Log(), "chroot") {
				t.Errorf("nothing is staged: %+v, %s", f.Deployments, b.Log())
			}
			b.Want(b.stage(d), 0, "staged and locked")
			f := b.gatherFacts(d)
			if f.Staged().Etcd != x.want || len(f.Problems) > 0 {
				t.Errorf("version %q, want %q: %q", f.Staged().Etcd, x.want, f.Problems)
			}
			asked := "setpriv --no-new-privs chroot --userspec=65534:65534 --groups=65534 " + b.Root + "/ostree/deploy/lab/deploy/" + moduletest.V2 + ".0 " + x.path + " --version\n"
			if x.want != "" && !strings.Contains(b.Log(), asked) {
				t.Errorf("no %q in %s", asked, b.Log())
			}
		})
	}
}

// TestStagedEtcdLeavesNoOpenPipe checks that a process that the staged etcd starts and leaves
// behind keeps nobody waiting. If etcd has printed its version, the version counts.
func TestStagedEtcdLeavesNoOpenPipe(t *testing.T) {
	d := engine.Desired{OS: &engine.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}}
	for name, x := range map[string]struct{ says, want string }{
		"with a version": {"echo 'etcd Version: 3.6.4'", "3.6.4"},
		"silent":         {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			b.Write("units/etcd.service", "active")
			b.Write("etcd-path", "/usr/bin/etcd")
			pipe, path := filepath.Join(b.Root, "pipe"), filepath.Join(b.Root, "ostree/deploy/lab/deploy", moduletest.V2+".0/usr/bin/etcd")
			b.Check(syscall.Mkfifo(pipe, 0o600))
			b.Check(os.MkdirAll(filepath.Dir(path), 0o755))
			b.Check(os.WriteFile(path, []byte("#!/bin/sh\n(read -r x <"+pipe+") &\n"+x.says+"\n"), 0o755))
			b.Want(b.stage(d), 0, "staged and locked")
			if f := b.gatherFacts(d); f.Staged().Etcd != x.want || len(f.Problems) > 0 {
				t.Errorf("version %q, want %q: %q", f.Staged().Etcd, x.want, f.Problems)
			}
			end, err := os.OpenFile(pipe, os.O_RDWR, 0) // ends the process if it has opened the pipe
			b.Check(err)
			b.Check(os.Remove(pipe)) // ends the process if it has not
			b.Check(end.Close())
		})
	}
}

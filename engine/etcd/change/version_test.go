package change

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"holdfast/engine"
	"holdfast/engine/etcd/membership"
	"holdfast/engine/version"
)

// TestVersionScript: a host tells the version of the etcd that its unit runs. That etcd runs as nobody, and may neither hang nor print
// without end.
func TestVersionScript(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		program string
		says    string // script of the program; "": there is none
		want    string
	}{
		"etcd":           {"etcd", "echo 'etcd Version: 3.6.4'; echo 'Git SHA: 1234567'", "3.6.4"},
		"in a container": {"podman", "echo 'etcd Version: 3.6.4'", ""},
		"not installed":  {"etcd", "", ""},
		"fails":          {"etcd", "echo usage >&2; exit 64", ""},
		"no version":     {"etcd", "printf 'etcd Version: \\033[31m\\n'", ""},
		"much output":    {"etcd", "echo 'etcd Version: 3.6.4'; while :; do echo x; done", "3.6.4"},
		"pipe kept open": {"etcd", "echo 'etcd Version: 3.6.4'; sleep 60 & echo $! >\"$0.pid\"", "3.6.4"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			path := b.root + "/opt/" + x.program
			b.addTool("systemctl", `[ "$1 $2 $3" = "show --property=ExecStart etcd.service" ] && echo "ExecStart={ path=`+path+` ; argv[]=`+path+` --name x ; ignore_errors=no ; }"`)
			b.addTool("setpriv", `echo "$*" >"`+b.root+`/asked"; shift 4; exec "$@"`)
			b.addTool("unshare", "exit 1")
			if x.says != "" {
				b.write("opt/"+x.program, "#!/bin/sh\n"+x.says+"\n")
				check(t, os.Chmod(path, 0o755))
			}
			code, out := b.run(versionScript(b.members))
			if pid, err := os.ReadFile(path + ".pid"); err == nil {
				n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
				check(t, err)
				check(t, syscall.Kill(n, syscall.SIGKILL))
			}
			if got := version.ReadEtcd(out); code != 0 || got != x.want {
				t.Errorf("exit status %d, version %q, want %q: %q", code, got, x.want, out)
			}
			asked, err := os.ReadFile(b.root + "/asked")
			if want := "--no-new-privs --reuid=65534 --regid=65534 --clear-groups " + path + " --version\n"; x.want != "" && (err != nil || string(asked) != want) {
				t.Errorf("it asks with %q: %v", asked, err)
			}
		})
	}
}

// versionHosts answers the probes of new hosts, and counts the questions for versions.
type versionHosts struct {
	asked  atomic.Int32
	broken bool
}

func (h *versionHosts) Run(_ context.Context, host engine.Host, script Script) (engine.Output, error) {
	switch {
	case script.Purpose != AskVersion && host.Name == "a":
		return engine.Output{Stdout: "clock 1700000000\ndata\n"}, nil
	case script.Purpose != AskVersion:
		return engine.Output{Stdout: "clock 1700000000\n"}, nil
	}
	h.asked.Add(1)
	if h.broken {
		return engine.Output{}, errors.New("connection lost")
	}
	return engine.Output{Stdout: "etcd Version: 3.4.30\n"}, nil
}

// TestOlderNewHost: the version of a new host is asked for once in a run, and again only after a lost answer. A host with an older etcd gets no
// member.
func TestOlderNewHost(t *testing.T) {
	t.Parallel()
	hosts := &versionHosts{broken: true}
	r := newFakeRun(&fakeHosts{}, &fakeEtcd{members: []membership.Member{{ID: "1", Name: "a", Host: "a", Healthy: true}}, version: "3.5.0"})
	r.Hosts = hosts
	r.Members = append(r.Members, engine.Host{Name: "c", Retired: true})
	for i := range 4 {
		hosts.broken = i == 0
		s, err := r.Observe(t.Context())
		check(t, err)
		if h := s.Hosts[1]; s.Version != "3.5.0" || (h.Etcd == "3.4.30") == hosts.broken {
			t.Errorf("version %q, %+v", s.Version, h)
		}
	}
	if asked := hosts.asked.Load(); asked != 2 { // b has no data
		t.Errorf("asked %d times", asked)
	}
	s, err := r.Observe(t.Context())
	check(t, err)
	if _, err := membership.Next(s); err == nil || !strings.Contains(err.Error(), "b: its etcd is 3.4.30, and the cluster is at 3.5: an older etcd does not start there") {
		t.Error(err)
	}
	r.AnyVersion = true
	s, err = r.Observe(t.Context())
	check(t, err)
	if step, err := membership.Next(s); err != nil || step.Action != membership.Preflight {
		t.Error(step, err)
	}
}

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/connection"
	"holdfast/engine/etcd"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/inventory"
	"holdfast/engine/rollout"
)

// TestEtcdEndpoints checks the client URLs of a real cluster in each form: of a cluster with a dead
// member and a learner, and of a cluster that does not answer.
func TestEtcdEndpoints(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	var urls []string
	for _, m := range cluster.Members {
		urls = append(urls, "http://"+m.Address+":2379")
	}
	site := etcdSite(t, cluster)
	run := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		p := exec.Command(os.Args[0])
		p.Args = append([]string{"holdfast", "etcd", "endpoints", "-i", site}, args...) // with this first argument, the test binary is the program
		p.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+t.TempDir())
		var out, warnings strings.Builder
		p.Stdout, p.Stderr = &out, &warnings
		_ = p.Run() // the exit status is checked below
		if got := p.ProcessState.ExitCode(); got != code {
			t.Errorf("%q: exit status %d, want %d: %s", args, got, code, warnings.String())
		}
		return out.String(), warnings.String()
	}

	if got, _ := run(0); got != strings.Join(urls, "\n")+"\n" {
		t.Errorf("printed %q", got)
	}
	if got, _ := run(0, "main", "--kube-apiserver"); got != "--etcd-servers="+strings.Join(urls, ",")+"\n" {
		t.Errorf("printed %q", got)
	}

	cluster.AddLearner(t)
	cluster.Members[1].Stop()
	got, warning := run(3, "--json")
	var e etcd.Endpoints
	if err := json.Unmarshal([]byte(got), &e); err != nil || e.Cluster != "main" || !slices.Equal(e.URLs, urls) || len(e.Problems) == 0 {
		t.Errorf("%v in %s", err, got)
	}
	if !strings.Contains(warning, "warning: etcd cluster main: member etcd-1 is not healthy") {
		t.Errorf("standard error has %q", warning)
	}

	text, err := os.ReadFile(site)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(site, []byte(strings.Replace(string(text), "timeout =", "manage = true\n  timeout =", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, warning := run(3); !strings.Contains(warning, "holdfast etcd members apply main --remove-member") {
		t.Errorf("standard error has %q", warning)
	}

	for _, m := range cluster.Members {
		m.Stop()
	}
	if got, warning := run(3); got != "" || !strings.Contains(warning, "list the client URLs: there is none; no member answers") {
		t.Errorf("printed %q and %q", got, warning)
	}
}

// TestHooksThatAreDue: after a failed hook, other commands tell that clients may use members that are gone.
func TestHooksThatAreDue(t *testing.T) {
	t.Parallel()
	stderr, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stderr.Close() }() // it is read below
	a := &app{siteOpener: siteOpener{console: console{stderr: stderr}}}
	s := &site{inv: engine.Inventory{Site: "north"}, loaded: inventory.Loaded{}, run: &rollout.Run{}, runsDir: t.TempDir()}
	for _, name := range []string{"done", "due", "none"} {
		c := engine.Cluster{Name: name, Managed: &engine.ManagedMembers{Hook: "tell-clients"}}
		if name == "none" {
			c.Managed.Hook = ""
		}
		if s.inv.Clusters = append(s.inv.Clusters, c); name != "done" {
			if err := s.newHook(c, connection.Members{}).MarkDue(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.warnOfHooks(s)
	text, err := os.ReadFile(stderr.Name())
	if got := string(text); err != nil || strings.Count(got, "warning") != 1 || !strings.Contains(got, "etcd cluster due: its voters have changed") || !strings.Contains(got, "holdfast etcd members apply due") {
		t.Error(got)
	}
}

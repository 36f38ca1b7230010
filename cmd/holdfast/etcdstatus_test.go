package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sourcegraph/conc"
	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/sys/unix"

	"holdfast/engine"
	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/remote/sshtest"
)

// etcdSite writes an inventory with the hosts of a real cluster, and returns its
// path.
func etcdSite(t *testing.T, cluster *etcdtest.Cluster) string {
	t.Helper()
	return etcdSiteWith(t, cluster, func(c sshtest.Config) *sshtest.Server { return sshtest.Start(t, c) })
}

// etcdSiteWith writes an inventory without limits of latency: the disk of a test machine may be slow.
func etcdSiteWith(t *testing.T, cluster *etcdtest.Cluster, start func(sshtest.Config) *sshtest.Server) string {
	t.Helper()
	var hosts strings.Builder
	for _, m := range cluster.Members {
		s := start(sshtest.Config{Address: m.Address})
		fmt.Fprintf(&hosts, "host %q {\n  address = %q\n  pool = \"etcd\"\n  etcd_cluster = \"main\"\n  ssh {\n    port = %d\n    identity = %q\n    known_hosts = %q\n  }\n}\n",
			m.Host, m.Address, s.Port(), s.Identity, s.KnownHosts)
	}
	path := filepath.Join(t.TempDir(), "inventory.hcl")
	text := "site \"test\" {\n  ssh {\n    user = \"core\"\n    ssh_config = \"none\"\n    become = \"sudo\"\n  }\n}\npool \"etcd\" {}\n" +
		"etcd_cluster \"main\" {\n  timeout = \"30s\"\n  governor = false\n" + tlsBlock(t, cluster) + "}\n" + hosts.String()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tlsBlock writes the client credentials of a cluster. It returns a block for the inventory with
// their paths.
func tlsBlock(t *testing.T, cluster *etcdtest.Cluster) string {
	t.Helper()
	if cluster.TLS == nil {
		return ""
	}
	dir := t.TempDir()
	block := "  tls {\n"
	for name, path := range map[string]string{"ca": cluster.TLS.CA, "cert": cluster.TLS.Cert, "key": cluster.TLS.Key} {
		data, err := cluster.Members[0].ReadFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		block += fmt.Sprintf("    %s = %q\n", name, filepath.Join(dir, name))
	}
	return block + "  }\n"
}

// readEtcdStatus runs etcd status with --json, checks its exit code and returns
// its output.
func readEtcdStatus(t *testing.T, code int, site string, args ...string) engine.ClusterStatus {
	t.Helper()
	p := startProgram(t, append([]string{"etcd", "status", "--json", "-i", site}, args...)...)
	_ = p.Wait() // the exit code is checked below
	if got := p.ProcessState.ExitCode(); got != code {
		t.Fatalf("exit status %d, want %d: %s", got, code, p.text())
	}
	var clusters []engine.ClusterStatus
	if err := json.Unmarshal([]byte(p.text()), &clusters); err != nil || len(clusters) != 1 {
		t.Fatalf("%v in %s", err, p.text())
	}
	return clusters[0]
}

// TestEtcdStatus checks the figures of a real cluster in four states: all members are healthy,
// there is an alarm, one member is dead, and the quorum is lost.
func TestEtcdStatus(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 3, etcdtest.Options{})
	site, client, ctx := etcdSite(t, cluster), cluster.Client(t), etcdtest.Context(t)
	put := func() {
		if _, err := client.Put(ctx, "k", strings.Repeat("v", 1000)); err != nil {
			t.Error(err)
		}
	}

	done := make(chan struct{})
	var writer conc.WaitGroup
	writer.Go(func() {
		pace := time.NewTicker(20 * time.Millisecond) // without it, three members keep the processors busy
		defer pace.Stop()
		for {
			select {
			case <-done:
				return
			case <-pace.C:
				put()
			}
		}
	})
	c := readEtcdStatus(t, 0, site, "--window", "1s")
	close(done)
	writer.Wait()
	if c.Name != "main" || c.Voters != 3 || c.Healthy != 3 || c.Quorum != 2 || c.Margin != 1 || len(c.Problems) > 0 || c.Leader() != cluster.Leader(t).Host {
		t.Errorf("status %+v", c)
	}
	for _, m := range c.Members {
		if m.DBInUseBytes == 0 || m.DBInUseBytes > m.DBBytes || m.DBQuotaBytes == 0 || m.RaftIndex == 0 || m.EntriesBehind > 0 || m.Version == "" {
			t.Errorf("member %+v", m)
		}
	}
	if len(c.Latency) != 3 || len(c.LatencyProblems) > 0 {
		t.Fatalf("latencies %+v; %q", c.Latency, c.LatencyProblems)
	}
	for _, l := range c.Latency {
		for _, q := range []struct {
			p99    float64
			bucket *engine.LatencyBucket
		}{{l.WALFsyncP99Seconds, l.WALFsyncBucket}, {l.BackendCommitP99Seconds, l.BackendCommitBucket}} {
			if q.bucket == nil || q.bucket.Observed == 0 || q.p99 <= 0 || q.p99 < q.bucket.LowSeconds || q.bucket.HighSeconds > 0 && q.p99 > q.bucket.HighSeconds {
				t.Errorf("p99 %v in bucket %+v of %s", q.p99, q.bucket, l.Host)
			}
		}
		if l.Window < engine.Duration(minWindow) {
			t.Errorf("window %s", l.Window)
		}
	}

	follower := cluster.Members[0]
	if follower == cluster.Leader(t) {
		follower = cluster.Members[1]
	}
	raiseAlarm(t, cluster)
	if c := readEtcdStatus(t, 3, site, "--window", "0"); len(c.Alarms) == 0 || c.Healthy != 3 || len(c.Latency)+len(c.LatencyProblems) > 0 {
		t.Errorf("with an alarm: %+v", c)
	}

	follower.Stop()
	c = readEtcdStatus(t, 3, site, "--window", "1s")
	if c.Healthy != 2 || c.Margin != 0 || len(c.Latency) != 2 || len(c.LatencyProblems) > 0 || !strings.Contains(strings.Join(c.Problems, "; "), "member "+follower.Name+" is not healthy") {
		t.Errorf("with a dead member: %+v", c)
	}
}

// raiseAlarm makes a member raise the alarm NOSPACE.
func raiseAlarm(t *testing.T, cluster *etcdtest.Cluster) {
	t.Helper()
	request := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, MemberID: cluster.Members[0].ID(), Alarm: pb.AlarmType_NOSPACE}
	if _, err := pb.NewMaintenanceClient(cluster.Client(t).ActiveConnection()).Alarm(etcdtest.Context(t), request); err != nil {
		t.Fatal(err)
	}
}

// TestEtcdStatusWatch checks that --watch refreshes until Ctrl-C. It appends blocks if there is no
// terminal, and replaces them on a terminal. Its exit code is the one of the last refresh.
func TestEtcdStatusWatch(t *testing.T) {
	t.Parallel()
	cluster := etcdtest.Start(t, 1, etcdtest.Options{})
	site := etcdSite(t, cluster)
	const line = "cluster main: 1 of 1 voters healthy, quorum ⌊1/2⌋ + 1 = 1, margin 1 - 1 = 0: none may fail"
	interrupt := func(p *started) {
		t.Helper()
		if err := p.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := p.Wait(); err != nil {
			t.Errorf("%v: %s", err, p.text())
		}
	}

	p := startProgram(t, "etcd", "status", "--watch", "--window", "1s", "-i", site)
	awaitText(t, p, line)
	interrupt(p)
	if strings.Contains(p.text(), "\x1b") || strings.Contains(p.text(), "stopped") {
		t.Errorf("printed %q", p.text())
	}

	p = startProgram(t, "etcd", "status", "--watch", "--window", "1s", "--json", "-i", site)
	awaitText(t, p, "\n")
	interrupt(p)
	for l := range strings.Lines(p.text()) {
		var clusters []engine.ClusterStatus
		if err := json.Unmarshal([]byte(l), &clusters); err != nil || clusters[0].Voters != 1 {
			t.Errorf("%v in %s", err, l)
		}
	}

	person, tty, err := terminalPair()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Args = []string{"holdfast", "etcd", "status", "--watch", "--window", "1s", "-i", site}
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK=", "HOME="+t.TempDir(), "TERM=xterm", "NO_COLOR=", "CI=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 20, Col: 160}); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = tty.Close()
	var work conc.WaitGroup
	seen := watchTerminal(person, &work)
	if err := seen.awaitText(line); err != nil {
		t.Error(err)
	}
	if _, err := person.WriteString("\x03"); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v:\n%s", err, seen.text())
	}
	work.Wait()
	_ = person.Close()
	if left := finalScreen(seen.text()); !strings.Contains(left, line) || !strings.Contains(left, "WINDOW\n") {
		t.Errorf("the end clears the last text: %q\nof\n%q", left, seen.text())
	}
}

// TestEtcdStatusWindow checks the limits of the window.
func TestEtcdStatusWindow(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"--window 5ms":       "etcd status: --window must be 0, or between 1s and 10m, not 5ms",
		"--window 11m":       "etcd status: --window must be 0, or between 1s and 10m, not 11m0s",
		"--watch --window 0": "etcd status: --watch refreshes after each window; --window must be at least 1s",
		"--window soon":      "invalid argument \"soon\" for \"--window\"",
	} {
		p := startProgram(t, append([]string{"etcd", "status"}, strings.Fields(args)...)...)
		_ = p.Wait()
		if code := p.ProcessState.ExitCode(); code != 1 || !strings.Contains(p.text(), want) {
			t.Errorf("%s: exit status %d: %s", args, code, p.text())
		}
	}
}

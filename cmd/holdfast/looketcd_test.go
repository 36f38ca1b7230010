package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdfast/engine/etcd/etcdtest"
	"holdfast/engine/remote/sshtest"
)

// TestInitLooksAtEtcd checks that init --look tells two real etcd clusters apart by their IDs, finds the
// credentials that a client needs, and names a member without a host.
func TestInitLooksAtEtcd(t *testing.T) {
	t.Parallel()
	three, one := etcdtest.Start(t, 3, etcdtest.Options{TLS: true}), etcdtest.Start(t, 1, etcdtest.Options{TLS: true, ServerNames: func(m *etcdtest.Member) []string { return []string{m.Address, "localhost", "127.0.0.1"} }})
	dir := t.TempDir()
	var config strings.Builder
	for _, cluster := range []*etcdtest.Cluster{three, one} {
		settings := etcdSettings(t, cluster)
		for _, m := range cluster.Members[:min(2, len(cluster.Members))] {
			box := filepath.Join(dir, m.Address)
			writeAll(t, box, map[string]string{
				"proc/9/comm": "etcd\n", "proc/9/status": "Uid:\t0\t0\t0\t0\n", "proc/9/environ": settings,
				"proc/9/cmdline": "/usr/bin/etcd\x00--listen-client-urls\x00https://" + m.Address + ":2379\x00",
			})
			s := sshtest.Start(t, sshtest.Config{Address: m.Address, Input: func(r io.Reader) io.Reader { return &movedScript{in: bufio.NewReader(r), box: box} }})
			fmt.Fprintf(&config, "Host %s\n  Port %d\n  User core\n  IdentityFile %s\n  UserKnownHostsFile %s\n", m.Address, s.Port(), s.Identity, s.KnownHosts)
		}
	}
	writeAll(t, dir, map[string]string{"config": config.String()})
	site := filepath.Join(dir, "berlin")
	p := startProgram(t, "init", "--look", "--ssh-config", filepath.Join(dir, "config"), site)
	_ = p.Wait() // the exit code is checked below
	text, err := os.ReadFile(filepath.Join(site, "inventory.hcl"))
	if err != nil || p.ProcessState.ExitCode() != 0 {
		t.Fatalf("exit status %d, %v: %s", p.ProcessState.ExitCode(), err, p.text())
	}
	inventory := strings.Join(strings.Fields(string(text)), " ")
	for _, want := range []string{
		`etcd_cluster "main" { tls {`, `etcd_cluster "main-2" { tls {`, `# Its member ` + three.Members[2].Name + ` is on no host that answered.`,
		`host "` + one.Members[0].Address + `" { address = "` + one.Members[0].Address + `" pool = "hosts" etcd_cluster = "main-2" }`,
	} {
		if !strings.Contains(inventory, want) {
			t.Errorf("no %s in\n%s\n%s", want, text, p.text())
		}
	}
	if n := strings.Count(inventory, `etcd_cluster = "main"`); n == 0 {
		t.Errorf("no host is in main:\n%s", text)
	}
	if !strings.Contains(p.text(), "etcd clusters: main, main-2") || !strings.Contains(p.text(), "etcd cluster main: these members are on no host that answered: "+three.Members[2].Name) {
		t.Errorf("printed:\n%s", p.text())
	}
}

// etcdSettings returns the environment of an etcd whose peer certificate is one for clients, too.
func etcdSettings(t *testing.T, cluster *etcdtest.Cluster) string {
	t.Helper()
	dir := t.TempDir()
	paths := map[string]string{"ca": cluster.TLS.CA, "cert": cluster.TLS.Cert, "key": cluster.TLS.Key}
	for name, path := range paths {
		data, err := cluster.Members[0].ReadFile(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, dir, map[string]string{name: string(data)})
	}
	ca, cert, key := filepath.Join(dir, "ca"), filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	return strings.Join([]string{
		"ETCD_TRUSTED_CA_FILE=" + ca, "ETCD_CERT_FILE=/none.crt", "ETCD_KEY_FILE=/none.key",
		"ETCD_PEER_TRUSTED_CA_FILE=" + ca, "ETCD_PEER_CERT_FILE=" + cert, "ETCD_PEER_KEY_FILE=" + key, "",
	}, "\x00")
}

func writeAll(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

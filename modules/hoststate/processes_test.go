package hoststate

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/engine/hostscript"
	"holdfast/modules/moduletest"
)

// TestProcesses checks which settings of etcd and of the kubelet are found, and that other processes and
// other variables stay unread.
func TestProcesses(t *testing.T) {
	t.Parallel()
	peer := engine.TLS{CA: "/pki/ca.crt", Cert: "/pki/peer.crt", Key: "/pki/peer.key"}
	server := engine.TLS{CA: "/pki/ca.crt", Cert: "/pki/server.crt", Key: "/pki/server.key"}
	for name, tc := range map[string]struct {
		comm, arguments, variables string
		want                       Processes
	}{
		"nothing": {"sshd", "sshd\x00-D\x00", "A=1\x00", Processes{}},
		"flags": {
			"etcd", "etcd\x00--listen-client-urls=http://127.0.0.1:2379,https://10.0.0.1:2479\x00--trusted-ca-file\x00/pki/ca.crt\x00-cert-file=/pki/server.crt\x00--key-file=/pki/server.key\x00" +
				"--peer-trusted-ca-file=/pki/ca.crt\x00--peer-cert-file=/pki/peer.crt\x00--peer-key-file=/pki/peer.key\x00", "HOME=/root\x00",
			Processes{Etcd: []EtcdProcess{{ClientPort: 2479, TLS: true, Credentials: []engine.TLS{peer, server}}}},
		},
		"variables, and another CA for peers": {
			"etcd", "/usr/bin/etcd\x00", "ETCD_LISTEN_CLIENT_URLS=https://0.0.0.0:2379\x00ETCD_TRUSTED_CA_FILE=/pki/ca.crt\x00ETCD_CERT_FILE=/pki/server.crt\x00ETCD_KEY_FILE=/pki/server.key\x00" +
				"ETCD_PEER_TRUSTED_CA_FILE=/pki/other.crt\x00ETCD_PEER_CERT_FILE=/pki/peer.crt\x00ETCD_PEER_KEY_FILE=/pki/peer.key\x00SECRET=ETCD_KEY_FILE=/x\x00",
			Processes{Etcd: []EtcdProcess{{ClientPort: 2379, TLS: true, Credentials: []engine.TLS{server}}}},
		},
		"plain":             {"etcd", "etcd\x00", "\x00", Processes{Etcd: []EtcdProcess{{ClientPort: 2379}}}},
		"a file":            {"etcd", "etcd\x00--config-file\x00/etc/etcd.yaml\x00", "", Processes{Etcd: []EtcdProcess{{ClientPort: 2379, ConfigFile: "/etc/etcd.yaml"}}}},
		"kubelet":           {"kubelet", "kubelet\x00--config=/x\x00", "", Processes{Kubelets: []string{"w-1.example"}}},
		"kubelet of a node": {"kubelet", "kubelet\x00--hostname-override=Node-7\x00", "", Processes{Kubelets: []string{"node-7"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := moduletest.NewBox(t)
			b.Write("proc/sys/kernel/hostname", "W-1.example")
			b.Write("proc/42/comm", tc.comm)
			b.Write("proc/42/status", "Name:\tx\nUid:\t0\t0\t0\t0\n")
			b.Write("proc/42/cmdline", tc.arguments)
			b.Write("proc/42/environ", tc.variables)
			const mark = "b05e21"
			commands := []engine.Command{ProcessesProbe()}
			out := b.Run(hostscript.ProbeScript(commands, mark))
			if strings.Contains(out.Stdout, "SECRET") || strings.Contains(out.Stdout, "HOME") || strings.Contains(out.Stdout, "sshd") {
				t.Errorf("more was read: %s", out.Stdout)
			}
			outputs, err := hostscript.ReadOutputs(commands, mark, out.Stdout, out.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			got, problem := ReadProcesses(outputs)
			tc.want.Hostname, tc.want.Tools = "W-1.example", []string{"rpm-ostree", "bootc"}
			if problem != "" || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got\n%+v, %s; want\n%+v", got, problem, tc.want)
			}
		})
	}
}

// TestProcessesOfPeople: a process with the name of etcd or of a kubelet counts only if it is of the system, and in the network of the
// host. Root would read the files that it names, and a crowd of others must not hide the real one.
func TestProcessesOfPeople(t *testing.T) {
	t.Parallel()
	b := moduletest.NewBox(t)
	b.Write("proc/sys/kernel/hostname", "w-1")
	add := func(pid int, uid, comm, arguments string) {
		folder := fmt.Sprintf("proc/%d/", pid)
		b.Write(folder+"comm", comm)
		b.Write(folder+"cmdline", arguments)
		b.Write(folder+"environ", "")
		if uid != "" {
			b.Write(folder+"status", "Name:\t"+comm+"\nUmask:\t0022\nUid:\t"+uid+"\nGid:\t0\t0\t0\t0\n")
		}
	}
	for i := range 20 {
		add(100+i, "1000\t1000\t1000\t1000", "etcd", "etcd\x00--listen-client-urls=https://127.0.0.1:666\x00--trusted-ca-file=/home/mallory/ca\x00")
	}
	add(200, "1000\t0\t0\t0", "etcd", "etcd\x00--config-file=/setuid\x00")
	add(201, "100000\t100000\t100000\t100000", "kubelet", "kubelet\x00--hostname-override=in-a-container-of-mallory\x00")
	add(202, "", "etcd", "etcd\x00--config-file=/no-status\x00")
	network := func(pid int, name string) {
		folder := fmt.Sprintf("proc/%d/ns", pid)
		b.Mkdir(folder)
		b.Check(os.Symlink(name, filepath.Join(b.Root, folder, "net")))
	}
	network(1, "net:[1]")
	for i, name := range []string{"etcd", "kubelet"} { // root in pods
		add(203+i, "0\t0\t0\t0", name, name+"\x00--listen-client-urls=https://127.0.0.1:666\x00--hostname-override=pod\x00")
		network(203+i, "net:[7]")
	}
	network(300, "net:[1]")
	add(300, "113\t113\t113\t113", "etcd", "etcd\x00--listen-client-urls=http://127.0.0.1:2379\x00")
	add(301, "61200\t61200\t61200\t61200", "kubelet", "kubelet\x00")
	const mark = "b05e21"
	commands := []engine.Command{ProcessesProbe()}
	out := b.Run(hostscript.ProbeScript(commands, mark))
	outputs, err := hostscript.ReadOutputs(commands, mark, out.Stdout, out.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	got, problem := ReadProcesses(outputs)
	want := Processes{Hostname: "w-1", Tools: got.Tools, Etcd: []EtcdProcess{{ClientPort: 2379}}, Kubelets: []string{"w-1"}}
	if problem != "" || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, %s; want\n%+v", got, problem, want)
	}
}

package hoststate

import (
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

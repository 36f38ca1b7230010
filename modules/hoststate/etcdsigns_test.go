package hoststate

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

// TestSignsOfEtcd checks that a unit, a static pod or a listener, under any name,
// is a sign that etcd runs on a host. A connection to an etcd elsewhere is no
// sign.
func TestSignsOfEtcd(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for name, tc := range map[string]struct {
		make func(b *moduletest.Box)
		want []string
	}{
		"nothing": {func(*moduletest.Box) {}, nil},
		"a unit":  {func(b *moduletest.Box) { b.Write("units/etcd-member.service", "active running enabled") }, []string{"etcd-member.service runs"}},
		"a static pod": {func(b *moduletest.Box) { b.Write("etc/kubernetes/manifests/etcd-pod.yaml", "kind: Pod") }, []string{
			"static pod /etc/kubernetes/manifests/etcd-pod.yaml",
		}},
		"a listener": {func(b *moduletest.Box) {
			b.Write("proc/net/tcp", head+"   0: 0100007F:094B 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0")
			b.Write("proc/net/tcp6", head+"   0: 00000000000000000000000000000000:094C 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0")
		}, []string{"a listener on port 2379", "a listener on port 2380"}},
		"a client of etcd": {func(b *moduletest.Box) {
			b.Write("proc/net/tcp", head+"   0: 0500000A:8CA0 0600000A:094B 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0")
		}, nil},
		"a connection to it": {func(b *moduletest.Box) {
			b.Write("proc/net/tcp", head+"   0: 0500000A:094B 0600000A:8CA0 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0")
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := moduletest.NewBox(t)
			tc.make(b)
			f := b.ReadFacts(engine.Desired{}, Module())
			for i, sign := range f.Etcd { // paths of the box are not paths of a host
				f.Etcd[i] = b.HostPaths(sign)
			}
			if !slices.Equal(f.Etcd, tc.want) || slices.ContainsFunc(f.Problems, func(p string) bool { return p[:4] == "etcd" }) {
				t.Errorf("signs %q, want %q; problems %q", f.Etcd, tc.want, f.Problems)
			}
		})
	}
}

// TestServersOfEtcd checks that the servers of etcd on a host are told apart, and that nothing else counts as one: an ordinary member
// must be disrupted.
func TestServersOfEtcd(t *testing.T) {
	t.Parallel()
	const root, person = "0\t0\t0\t0", "1000\t1000\t1000\t1000"
	const pod = "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5.slice/"
	type process struct{ comm, uid, arguments, cgroup string }
	for name, tc := range map[string]struct {
		processes []process
		want      []string
	}{
		"none":     {[]process{{"sshd", root, "sshd\x00-D\x00", "0::/system.slice/ssh.service"}}, nil},
		"a member": {[]process{{"etcd", root, "/usr/bin/etcd\x00", "0::/system.slice/etcd.service"}}, []string{"etcd.service"}},
		"two": {[]process{
			{"etcd", "104\t104\t104\t104", "etcd\x00--name\x00gateway\x00", "0::/system.slice/etcd.service"},
			{"etcd", root, "etcd\x00", "12:pids:/x\n1:name=systemd:/system.slice/system-etcd.slice/etcd@events.service"},
		}, []string{"etcd.service", "etcd@events.service"}},
		"a container in a service": {[]process{
			{"conmon", root, "conmon\x00", "0::/system.slice/etcd.service/supervisor"},
			{"etcd", root, "etcd\x00", "0::/system.slice/etcd.service/libpod-payload-1"},
			{"etcd-exporter", root, "etcd-exporter\x00", "0::/system.slice/etcd-exporter.service"},
		}, []string{"etcd.service"}},
		"a service and a container": {[]process{
			{"etcd", root, "etcd\x00", "0::/system.slice/etcd.service"}, {"etcd", root, "etcd\x00", "0::/system.slice/docker-1.scope"},
		}, []string{"docker-1.scope", "etcd.service"}},
		"a static pod that was just restarted": {[]process{
			{"etcd", root, "etcd\x00", pod + "crio-1.scope"}, {"etcd", root, "etcd\x00", pod + "crio-2.scope"},
		}, []string{"kubepods-burstable-pod5.slice"}},
		"containers of podman": {[]process{
			{"etcd", root, "etcd\x00", "0::/machine.slice/libpod-1.scope/container"}, {"etcd", root, "etcd\x00", "0::/machine.slice/libpod-2.scope/container"},
		}, []string{"libpod-1.scope", "libpod-2.scope"}},
		"two processes of a container": {[]process{
			{"etcd", root, "etcd\x00", "0::/machine.slice/libpod-1.scope/container"}, {"etcd", root, "etcd\x00", "0::/machine.slice/libpod-1.scope/container/init.scope"},
		}, []string{"libpod-1.scope"}},
		"a machine with a service": {[]process{
			{"etcd", root, "etcd\x00", "0::/system.slice/etcd.service"}, {"etcd", root, "etcd\x00", "0::/machine.slice/machine-a.scope/payload/system.slice/etcd.service"},
		}, []string{"etcd.service", "machine-a.scope"}},
		"a pod of crun that was just restarted": {[]process{
			{"etcd", root, "etcd\x00", pod + "crio-1.scope/container"}, {"etcd", root, "etcd\x00", pod + "crio-2.scope/container"},
		}, []string{"kubepods-burstable-pod5.slice"}},
		"two pods": {[]process{
			{"etcd", root, "etcd\x00", pod + "crio-1.scope/container"}, {"etcd", root, "etcd\x00", "0::/kubepods.slice/kubepods-poda6.slice/crio-2.scope/container"},
		}, []string{"kubepods-burstable-pod5.slice", "kubepods-poda6.slice"}},
		"a pod without slices of systemd": {[]process{
			{"etcd", root, "etcd\x00", "0::/kubepods/burstable/pod5-a/c1"}, {"etcd", root, "etcd\x00", "0::/kubepods/burstable/pod5-a/c2/container"},
		}, []string{"pod5-a"}},
		"pods below the service of containerd": {[]process{
			{"etcd", root, "etcd\x00", "0::/system.slice/containerd.service/kubepods-burstable-pod5.slice:cri-containerd:1"},
			{"etcd", root, "etcd\x00", "0::/system.slice/containerd.service/kubepods-burstable-pod6.slice:cri-containerd:2"},
			{"etcd", root, "etcd\x00", "0::/system.slice/containerd.service/kubepods-burstable-pod6.slice:cri-containerd:3"},
		}, []string{"kubepods-burstable-pod5.slice", "kubepods-burstable-pod6.slice"}},
		"other commands of etcd": {[]process{
			{"etcd", root, "etcd\x00grpc-proxy\x00start\x00", pod + "crio-3.scope"},
			{"etcd", root, "etcd\x00gateway\x00", "0::/system.slice/etcd-gateway.service"},
			{"etcd", root, "/usr/bin/etcd\x00--version\x00", "0::/system.slice/ssh.service"},
			{"etcd", root, "", "0::/system.slice/etcd-ended.service"},
		}, nil},
		"of a person": {[]process{{"etcd", person, "etcd\x00", "0::/user.slice/user-1000.slice/session-1.scope"}}, nil},
		"no place":    {[]process{{"etcd", root, "etcd\x00", "0::/"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := moduletest.NewBox(t)
			for i, p := range tc.processes {
				folder := fmt.Sprintf("proc/%d/", 100+i)
				b.Write(folder+"comm", p.comm)
				b.Write(folder+"status", "Name:\t"+p.comm+"\nUid:\t"+p.uid+"\n")
				b.Write(folder+"cgroup", p.cgroup)
				b.Check(os.WriteFile(filepath.Join(b.Root, folder, "cmdline"), []byte(p.arguments), 0o600))
			}
			f := b.ReadFacts(engine.Desired{}, Module())
			if !slices.Equal(f.EtcdServers, tc.want) || len(f.Etcd) > 0 || slices.ContainsFunc(f.Problems, func(p string) bool { return p[:4] == "etcd" }) {
				t.Errorf("servers %q, want %q; signs %q, problems %q", f.EtcdServers, tc.want, f.Etcd, f.Problems)
			}
		})
	}
}

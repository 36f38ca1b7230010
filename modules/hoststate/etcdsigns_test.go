package hoststate

import (
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

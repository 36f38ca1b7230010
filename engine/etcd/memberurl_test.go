package etcd_test

import (
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
)

// TestHostilePeerURLs: peer URLs and names of members get into the settings of etcd on other hosts. A member that lies about them
// changes nothing but that no members are changed.
func TestHostilePeerURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, url string
		good      bool
	}{
		{"etcd-0", "https://10.0.0.1:2380", true},
		{"rack a: 1", "http://etcd-0.example:2380", true},
		{"etcd-0", "http://10.0.0.1:2380\nLD_PRELOAD=/tmp/x.so", false},
		{"etcd-0", "http://10.0.0.1:2380,b=http://10.0.0.9:2380", false},
		{"etcd-0", "http://$(reboot):2380", false},
		{"etcd-0", "unix:///run/x", false},
		{"etcd-0=http://10.0.0.9:2380,x", "http://10.0.0.1:2380", false},
		{"etcd-0\nETCD_DATA_DIR=/etc", "http://10.0.0.1:2380", false},
		{`etcd-0"`, "http://10.0.0.1:2380", false},
	} {
		members, cfg := fakeCluster(t, "etcd-0")
		members[0].change(func(m *fakeMember) { m.list = []*pb.Member{{ID: 1, Name: c.name, PeerURLs: []string{c.url}}} })
		list := openCluster(t, cfg).Members(t.Context())
		if (list.Problem == "") != c.good || !c.good && len(list.Members)+len(list.PeerURLs) > 0 || strings.ContainsAny(list.Problem, "\n\x1b") {
			t.Errorf("%q at %q: %+v", c.name, c.url, list)
		}
	}
}

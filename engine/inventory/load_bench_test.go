package inventory_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

// BenchmarkLoad reads 10,000 hosts in 50 etcd clusters, each host a block of
// its own.
func BenchmarkLoad(b *testing.B) {
	src := largeSite(50, 200)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := inventory.Load(inventory.Source{FS: fstest.MapFS{"a.hcl": {Data: []byte(src)}}, Paths: []string{"a.hcl"}})
		if err != nil || len(l.Inventory.Hosts) != 50*200 {
			b.Fatal(len(l.Inventory.Hosts), err)
		}
	}
}

// largeSite returns a site with several clusters. hosts is the number of hosts of
// each cluster: three members, and workers.
func largeSite(clusters, hosts int) string {
	var s strings.Builder
	s.WriteString("site \"large\" {}\npool \"etcd\" {}\npool \"worker\" { after = [\"etcd\"] }\n")
	for c := range clusters {
		fmt.Fprintf(&s, "etcd_cluster \"c%d\" {}\n", c)
		for h := range hosts {
			pool, cluster := "worker", ""
			if h < 3 {
				pool, cluster = "etcd", fmt.Sprintf("  etcd_cluster = \"c%d\"\n", c)
			}
			fmt.Fprintf(&s, "host \"h-%d-%d\" {\n  address = \"10.%d.%d.%d\"\n  pool = %q\n%s}\n", c, h, c, h/250, h%250, pool, cluster)
		}
	}
	return s.String()
}

package draft

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

// FoundCluster is an etcd cluster of which at least one host is a member.
type FoundCluster struct {
	Name       string
	ID         string // as etcd prints it
	ClientPort int
	TLS        *engine.TLS // paths on the members; nil: without TLS
	Others     bool        // some members have other paths or another port
	Absent     []string    // members that are on no host that answered
}

// Membership is the answer of the etcd on one host.
type Membership struct {
	Host       string
	Cluster    string // ID of the cluster
	Member     string // ID of the member on the host
	ClientPort int
	TLS        *engine.TLS
	Members    map[string]string // all members of the cluster: their names by ID
}

// memberSettings has the settings that the members of a cluster share.
type memberSettings struct {
	port    int
	tls     engine.TLS
	withTLS bool
}

func (m Membership) sharedSettings() memberSettings {
	s := memberSettings{port: m.ClientPort}
	if m.TLS != nil {
		s.tls, s.withTLS = *m.TLS, true
	}
	return s
}

// findCommon returns a member with the settings that most members have.
func findCommon(members []Membership) (most Membership) {
	count := map[memberSettings]int{}
	for _, m := range members {
		count[m.sharedSettings()]++
	}
	best := 0
	for _, m := range members {
		if n := count[m.sharedSettings()]; n > best {
			most, best = m, n
		}
	}
	return most
}

// JoinClusters tells the clusters of members apart by their IDs. It returns the clusters, and the name
// of the cluster of each host.
func JoinClusters(answers []Membership) (clusters []FoundCluster, byHost map[string]string) {
	var groups textutil.Groups[string, Membership]
	for _, a := range answers {
		groups.Add(a.Cluster, a)
	}
	byHost = map[string]string{}
	for id, members := range groups.All() {
		most := findCommon(members)
		c := FoundCluster{Name: "main", ID: id, ClientPort: most.ClientPort, TLS: most.TLS}
		if n := len(clusters); n > 0 {
			c.Name = fmt.Sprintf("main-%d", n+1)
		}
		all := map[string]string{}
		for _, m := range members {
			for member, name := range m.Members {
				all[member] = cmp.Or(name, member)
			}
		}
		for _, m := range members {
			delete(all, m.Member)
			byHost[m.Host] = c.Name
			c.Others = c.Others || m.sharedSettings() != most.sharedSettings()
		}
		for _, name := range all {
			c.Absent = append(c.Absent, hostText(name))
		}
		slices.Sort(c.Absent)
		clusters = append(clusters, c)
	}
	return clusters, byHost
}

func writeCluster(b *strings.Builder, c FoundCluster) {
	fmt.Fprintf(b, "\n# Its members told its ID, %s. The name is free; hosts have it, too.\n", hostText(c.ID))
	if c.Others {
		b.WriteString("# Some members have another port or other files than these.\n")
	}
	for _, name := range c.Absent {
		fmt.Fprintf(b, "# Its member %s is on no host that answered.\n", name)
	}
	fmt.Fprintf(b, "etcd_cluster %s {\n", quote(c.Name))
	if c.ClientPort != defaultClientPort {
		fmt.Fprintf(b, "client_port = %d\n", c.ClientPort)
	}
	if c.TLS != nil {
		fmt.Fprintf(b, "tls { # paths on the members\nca = %s\ncert = %s\nkey = %s\n}\n", quote(c.TLS.CA), quote(c.TLS.Cert), quote(c.TLS.Key))
	}
	b.WriteString("}\n")
}

const defaultClientPort = 2379

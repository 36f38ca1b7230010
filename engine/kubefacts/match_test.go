package kubefacts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine/kubefacts"
)

var now = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestMatchHosts: the node of a host has its name, or reports its name or address.
func TestMatchHosts(t *testing.T) {
	c := kubefacts.ClusterFacts{Name: "main", Nodes: []kubefacts.Node{
		{Name: "a", Ready: true},
		{Name: "node-b.example.com", Addresses: []string{"10.0.0.2", "B"}, Ready: true},
		{Name: "c", Addresses: []string{"10.0.0.9"}},
		{Name: "c2", Addresses: []string{"10.0.0.3"}},
		{Name: "d", Addresses: []string{"10.0.0.4", "d2"}},
		{Name: "node-f", Addresses: []string{"fd00::1"}, Ready: true},
	}}
	hosts := []kubefacts.Host{{"a", "10.0.0.1"}, {"b", "10.9.9.9"}, {"c", "10.0.0.3"}, {"d", "10.0.0.4"}, {"d2", "10.0.0.5"}, {"e", "10.0.0.6"}, {"f", "FD00:0::01"}}
	got := c.MatchHosts(hosts, now)
	for host, want := range map[string]string{
		"a": "node a", "b": "node node-b.example.com", "f": "node node-f",
		"c":  "Kubernetes cluster main has 2 nodes with its name or address: c, c2",
		"d":  "node d of Kubernetes cluster main is also that of d2",
		"d2": "node d of Kubernetes cluster main is also that of d",
		"e":  "Kubernetes cluster main has no node with the name e or the address 10.0.0.6",
	} {
		if s := got[host]; s.Problem != want && "node "+s.Node != want || s.Problem != "" && s.Node != "" {
			t.Errorf("%s: %+v, want %s", host, s, want)
		}
	}
	c.Problem = &kubefacts.Problem{Cause: "gone"}
	if s := c.MatchHosts(hosts, now)["a"]; s.Problem != "the API of Kubernetes cluster main does not tell: gone" {
		t.Errorf("%+v", s)
	}
}

// TestMatchesAreUnambiguous: a host has the node that it alone matches, and each other host has a problem.
func TestMatchesAreUnambiguous(t *testing.T) {
	word := rapid.SampledFrom([]string{"a", "b", "c", "A", "10.0.0.1", "10.0.0.2", "d."})
	rapid.Check(t, func(t *rapid.T) {
		c := kubefacts.ClusterFacts{Name: "main"}
		for _, name := range rapid.SliceOfNDistinct(word, 0, 4, rapid.ID).Draw(t, "nodes") { // the API has no name twice
			c.Nodes = append(c.Nodes, kubefacts.Node{Name: name, Addresses: rapid.SliceOfN(word, 0, 3).Draw(t, "addresses")})
		}
		var hosts []kubefacts.Host
		for i := range rapid.IntRange(0, 4).Draw(t, "hosts") {
			hosts = append(hosts, kubefacts.Host{Name: fmt.Sprint(i), Address: word.Draw(t, "address")})
		}
		matches := func(h kubefacts.Host, n kubefacts.Node) bool {
			for _, w := range append([]string{n.Name}, n.Addresses...) {
				w = strings.ToLower(strings.TrimSuffix(w, "."))
				if w == strings.ToLower(strings.TrimSuffix(h.Name, ".")) || w == strings.ToLower(strings.TrimSuffix(h.Address, ".")) {
					return true
				}
			}
			return false
		}
		got := c.MatchHosts(hosts, now)
		for _, h := range hosts {
			var mine []int
			for i, n := range c.Nodes {
				if matches(h, n) {
					mine = append(mine, i)
				}
			}
			shared := false
			for _, other := range hosts {
				if other == h || len(mine) != 1 || !matches(other, c.Nodes[mine[0]]) {
					continue
				}
				others := 0
				for _, n := range c.Nodes {
					if matches(other, n) {
						others++
					}
				}
				shared = shared || others == 1
			}
			s := got[h.Name]
			if want := len(mine) == 1 && !shared; want != (s.Problem == "") || want != (s.Node != "") || want && s.Node != c.Nodes[mine[0]].Name {
				t.Fatalf("%+v: %+v; it matches %v, shared: %v", h, s, mine, shared)
			}
		}
	})
}

// TestAbsence: who has the node is told before the state of the node.
func TestAbsence(t *testing.T) {
	lease := func(age time.Duration, holder string) []kubefacts.Lease {
		return []kubefacts.Lease{{Node: "n", Holder: holder, RenewedAt: now.Add(-age), Duration: time.Minute}}
	}
	for name, x := range map[string]struct {
		node   kubefacts.Node
		leases []kubefacts.Lease
		of     string // node of a NodeMaintenance
		want   kubefacts.Absence
		text   string
	}{
		"ready":             {kubefacts.Node{Ready: true}, nil, "", kubefacts.Present, ""},
		"not ready":         {kubefacts.Node{NotReady: "KubeletNotReady: x", Cordoned: true}, nil, "", kubefacts.NotReady, "its node is not Ready (KubeletNotReady: x)"},
		"cordoned":          {kubefacts.Node{Ready: true, Cordoned: true}, nil, "", kubefacts.Cordoned, "its node is cordoned"},
		"leased":            {kubefacts.Node{Ready: true}, lease(time.Second, "far"), "", kubefacts.Leased, "far has the lease of its node"},
		"lease is over":     {kubefacts.Node{Ready: true}, lease(time.Minute, "far"), "", kubefacts.Present, ""},
		"of nobody":         {kubefacts.Node{Ready: true}, lease(time.Second, ""), "", kubefacts.Present, ""},
		"of the future":     {kubefacts.Node{Ready: true}, lease(-2*time.Minute, "far"), "", kubefacts.Present, ""},
		"of another clock":  {kubefacts.Node{Ready: true}, lease(-30*time.Second, "far"), "", kubefacts.Leased, "far has the lease of its node"},
		"being deleted":     {kubefacts.Node{Deleted: true, Cordoned: true}, lease(time.Second, "far"), "n", kubefacts.BeingDeleted, "its node is being deleted"},
		"in maintenance":    {kubefacts.Node{Ready: true, Cordoned: true}, nil, "n", kubefacts.InMaintenance, "NodeMaintenance nm keeps its node out of use: disk"},
		"other maintenance": {kubefacts.Node{Ready: true}, nil, "m", kubefacts.Present, ""},
	} {
		x.node.Name = "n"
		c := kubefacts.ClusterFacts{Name: "main", Nodes: []kubefacts.Node{x.node}, Leases: x.leases}
		if x.of != "" {
			c.Maintenances = []kubefacts.Maintenance{{Node: x.of, Name: "nm", Reason: "disk"}}
		}
		if s := c.MatchHosts([]kubefacts.Host{{Name: "n"}}, now)["n"]; s.Absence != x.want || s.Text != x.text {
			t.Errorf("%s: %+v, want %q", name, s, x.text)
		}
	}
}

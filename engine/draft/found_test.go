package draft_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/draft"
)

const (
	v1     = "1111111111111111111111111111111111111111111111111111111111111111"
	v2     = "2222222222222222222222222222222222222222222222222222222222222222"
	digest = "sha256:" + v1
)

// TestFindOS checks the OS of hosts by the origin of their booted deployment.
func TestFindOS(t *testing.T) {
	image := "quay.io/acme/os@" + digest
	for name, tc := range map[string]struct {
		driver, digest, origin string
		want                   draft.OS
	}{
		"ostree":             {"ostree", v1, "lab:lab/stable", draft.OS{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v1}},
		"ostree, no remote":  {"ostree", v1, "lab/stable", draft.OS{Driver: "ostree", Commit: v1}},
		"rpm-ostree":         {"rpm-ostree", v1, "fedora:fedora/x86_64/coreos/stable", draft.OS{Driver: "rpm-ostree", Remote: "fedora", Ref: "fedora/x86_64/coreos/stable", Commit: v1}},
		"rpm-ostree, no ref": {"rpm-ostree", v1, "", draft.OS{Driver: "rpm-ostree", Remark: "its OS 111111111111 follows no ref of a remote"}},
		"unverified":         {"rpm-ostree", digest, "ostree-unverified-registry:quay.io/acme/os:stable", draft.OS{Driver: "rpm-ostree", Image: image}},
		"signed":             {"rpm-ostree", digest, "ostree-image-signed:docker://quay.io/acme/os", draft.OS{Driver: "rpm-ostree", Image: image}},
		"by a remote":        {"rpm-ostree", digest, "ostree-remote-image:fedora:docker://quay.io/acme/os:1", draft.OS{Driver: "rpm-ostree", Image: image}},
		"remote registry":    {"rpm-ostree", digest, "ostree-remote-registry:fedora:quay.io/acme/os", draft.OS{Driver: "rpm-ostree", Image: image}},
		"by digest":          {"bootc", digest, "quay.io/acme/os@sha256:" + v2, draft.OS{Driver: "bootc", Image: image}},
		"port":               {"bootc", digest, "registry:5000/acme/os:1", draft.OS{Driver: "bootc", Image: "registry:5000/acme/os@" + digest}},
		"port, no tag":       {"bootc", digest, "localhost:5000/os", draft.OS{Driver: "bootc", Image: "localhost:5000/os@" + digest}},
		"bootc, a commit":    {"bootc", v1, "lab:lab/stable", draft.OS{Driver: "bootc", Remark: `its OS is not an image; write image = "NAME@sha256:…" to move it to one`}},
		"no remote":          {"rpm-ostree", v1, ":stable", draft.OS{Driver: "rpm-ostree", Remark: "its OS 111111111111 follows no ref of a remote"}},
		"no digest":          {"rpm-ostree", "", "docker://quay.io/acme/os", draft.OS{Driver: "rpm-ostree", Remark: `its OS has the digest "", which no inventory can have`}},
		"another digest":     {"rpm-ostree", "sha512:11", "lab:stable", draft.OS{Driver: "rpm-ostree", Remark: `its OS has the digest "sha512:11", which no inventory can have`}},
		"a ref with a line":  {"ostree", v1, "lab:a\nb", draft.OS{Driver: "ostree", Commit: v1}},
		"elsewhere":          {"bootc", digest, "/run/image dir", draft.OS{Driver: "bootc", Remark: `no image name can be made of the origin "/run/image dir"; write image = "NAME@` + digest + `"`}},
	} {
		got, problem := draft.FindOS(tc.driver, engine.Facts{Tool: tc.driver + " 1", Deployments: []engine.Deployment{{Digest: v2}, {Digest: tc.digest, Origin: tc.origin, Booted: true}}})
		if problem != "" || got != tc.want {
			t.Errorf("%s: got %+v, %s", name, got, problem)
		}
	}
	for _, f := range []engine.Facts{{}, {Tool: "x"}, {Tool: "x", OSProblem: "p", Deployments: []engine.Deployment{{Digest: v1}}}} {
		if o, problem := draft.FindOS("ostree", f); problem == "" || o != (draft.OS{}) {
			t.Errorf("%+v: %+v, %q", f, o, problem)
		}
	}
}

// TestJoinClusters checks that the ID tells clusters apart, and not the name of a member or its files.
func TestJoinClusters(t *testing.T) {
	tls := &engine.TLS{CA: "/ca", Cert: "/c", Key: "/k"}
	all := map[string]string{"1": "a", "2": "b", "3": ""}
	clusters, byHost := draft.JoinClusters([]draft.Membership{
		{Host: "h1", Cluster: "c1", Member: "1", ClientPort: 2379, TLS: tls, Members: all},
		{Host: "h9", Cluster: "c2", Member: "9", ClientPort: 2379, Members: map[string]string{"9": "a"}},
		{Host: "h2", Cluster: "c1", Member: "2", ClientPort: 2379, TLS: &engine.TLS{CA: "/ca", Cert: "/other", Key: "/k"}, Members: all},
	})
	want := []draft.FoundCluster{
		{Name: "main", ID: "c1", ClientPort: 2379, TLS: tls, Others: true, Absent: []string{"3"}},
		{Name: "main-2", ID: "c2", ClientPort: 2379},
	}
	if !reflect.DeepEqual(clusters, want) || !reflect.DeepEqual(byHost, map[string]string{"h1": "main", "h2": "main", "h9": "main-2"}) {
		t.Errorf("%+v %v", clusters, byHost)
	}
}

// TestJoinClustersByMost checks that a cluster has the settings of most of its members: one host, which may lie, does not decide for all.
func TestJoinClustersByMost(t *testing.T) {
	tls := &engine.TLS{CA: "/ca", Cert: "/c", Key: "/k"}
	answers := []draft.Membership{{Host: "h1", Cluster: "c1", Member: "9", ClientPort: 22, TLS: &engine.TLS{CA: "/tmp/ca", Cert: "/c", Key: "/k"}}}
	for i, host := range []string{"h2", "h3"} {
		answers = append(answers, draft.Membership{Host: host, Cluster: "c1", Member: strconv.Itoa(i), ClientPort: 2379, TLS: &engine.TLS{CA: tls.CA, Cert: tls.Cert, Key: tls.Key}})
	}
	clusters, _ := draft.JoinClusters(answers)
	want := []draft.FoundCluster{{Name: "main", ID: "c1", ClientPort: 2379, TLS: tls, Others: true}}
	if !reflect.DeepEqual(clusters, want) {
		t.Errorf("%+v", clusters)
	}
}

// TestFoundHosts checks that an inventory with the answers of hosts is valid, has each host that answered
// with its OS and its cluster, and no other host.
func TestFoundHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draft.Site{Name: "berlin", Found: map[string]draft.Found{}, Clusters: []draft.FoundCluster{
			{Name: "main", ID: "1f", ClientPort: 2379, TLS: &engine.TLS{CA: "/ca", Cert: "/c", Key: "/k"}, Absent: []string{"x"}},
			{Name: "main-2", ID: "2f", ClientPort: 4001, Others: true},
		}}
		addresses := map[string]bool{}
		for range rapid.IntRange(1, 30).Draw(t, "hosts") {
			h := drawHost(t)
			if _, seen := s.Found[h.Name]; seen || addresses[h.Address] {
				continue
			}
			addresses[h.Address] = true
			s.Hosts, s.Found[h.Name] = append(s.Hosts, h), drawFound(t)
		}
		s.Clusters = slices.DeleteFunc(s.Clusters, func(c draft.FoundCluster) bool {
			return !slices.ContainsFunc(s.Hosts, func(h draft.Host) bool { return s.Found[h.Name].Cluster == c.Name })
		})
		d, err := draft.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		if d.Hosts == 0 {
			return // then init writes nothing
		}
		inv := load(t, d.Text)
		if len(inv.Hosts) != d.Hosts || d.Hosts+d.Silent != len(s.Hosts) {
			t.Fatalf("%d hosts, %d silent, of %d:\n%s", d.Hosts, d.Silent, len(s.Hosts), d.Text)
		}
		for _, h := range inv.Hosts {
			f, p := s.Found[h.Name], engine.Pool{}
			p, _ = inv.Pool(h.Pool)
			var want *engine.OS
			if f.OSProblem == "" {
				want = &engine.OS{Driver: f.OS.Driver, Remote: f.OS.Remote, Ref: f.OS.Ref, Commit: f.OS.Commit, Image: f.OS.Image}
			}
			if f.Unreachable != "" || h.Cluster != f.Cluster || !reflect.DeepEqual(p.OS, want) {
				t.Fatalf("host %+v, OS %+v, found %+v\n%s", h, p.OS, f, d.Text)
			}
		}
		for _, h := range s.Hosts {
			if f := s.Found[h.Name]; f.Unreachable != "" && !strings.Contains(strings.Join(d.Remarks, "\n"), h.Name) {
				t.Fatalf("%s is not named: %v", h.Name, d.Remarks)
			}
		}
	})
}

func drawFound(t *rapid.T) draft.Found {
	if rapid.IntRange(0, 4).Draw(t, "silent") == 0 {
		return draft.Found{Unreachable: rapid.SampledFrom([]string{"refused", "a\n}\nb ${x}"}).Draw(t, "why")}
	}
	f := draft.Found{
		OS: rapid.SampledFrom([]draft.OS{
			{Driver: "ostree", Remote: "lab", Ref: `lab/"${x}`, Commit: v1, Version: "1.0"},
			{Driver: "ostree", Remote: "lab", Ref: "lab/stable", Commit: v2, Version: "1.0"},
			{Driver: "rpm-ostree", Image: "quay.io/acme/os@" + digest, Version: "1.0"},
			{Driver: "bootc", Remark: "r"},
			{Driver: "ostree", Commit: v1},
		}).Draw(t, "os"),
		Cluster: rapid.SampledFrom([]string{"", "main", "main-2"}).Draw(t, "cluster"),
		Node:    rapid.SampledFrom([]string{"", "w-1", "node\n}"}).Draw(t, "node"),
	}
	if rapid.IntRange(0, 4).Draw(t, "no OS") == 0 {
		f.OS, f.OSProblem = draft.OS{}, "it has no ostree"
	}
	if f.Cluster == "" && rapid.Bool().Draw(t, "stray") {
		f.EtcdProblem = "unknown\n}"
	}
	return f
}

// TestHostileAnswers draws the answers of one host. The inventory of all hosts is valid, names the OS of the others, and stays short.
func TestHostileAnswers(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	word := rapid.SampledFrom([]string{"", "lab", "${file(\"/etc/shadow\")}", "%{for x in y}", "\"\n}\npool \"p\" {", "\u202e", "\r", "\x00\xff", "*/ #", "1.0", long})
	rapid.Check(t, func(t *rapid.T) {
		driver := rapid.SampledFrom([]string{"ostree", "rpm-ostree", "bootc"}).Draw(t, "driver")
		origin := rapid.SampledFrom([]string{"%:%", "%", "docker://%", "ostree-unverified-registry:%", "%/%:%", "%@%"}).Draw(t, "origin")
		for strings.Contains(origin, "%") && len(origin) < 1<<18 {
			before, after, _ := strings.Cut(origin, "%")
			origin = before + strings.ReplaceAll(word.Draw(t, "word"), "%", "\x01") + after
		}
		origin = strings.ReplaceAll(origin, "\x01", "%")
		id := rapid.SampledFrom([]string{v1, digest, "", "sha256:", "sha512:11", "\n}", long}).Draw(t, "digest")
		found := draft.Found{Node: word.Draw(t, "node"), EtcdProblem: word.Draw(t, "problem"), Cluster: rapid.SampledFrom([]string{"", "main"}).Draw(t, "cluster")}
		found.OS, found.OSProblem = draft.FindOS(driver, engine.Facts{Tool: "x", Deployments: []engine.Deployment{{Digest: id, Version: word.Draw(t, "version"), Origin: origin, Booted: true}}})
		if rapid.Bool().Draw(t, "silent") {
			found = draft.Found{Unreachable: word.Draw(t, "why")}
		}
		honest := engine.OS{Driver: "ostree", Remote: "lab", Ref: "stable", Commit: v2}
		s := draft.Site{
			Name: "berlin", Hosts: []draft.Host{{Name: "w-1", Address: "192.0.2.1", Group: "w"}, {Name: "w-2", Address: "192.0.2.2", Group: "w"}},
			Found: map[string]draft.Found{"w-1": {OS: draft.OS{Driver: honest.Driver, Remote: honest.Remote, Ref: honest.Ref, Commit: honest.Commit}}, "w-2": found},
		}
		if found.Cluster != "" {
			// The probe of processes prints lines, and ReadProcesses makes them printable.
			path := func(label string) string {
				return "/" + strings.NewReplacer("\x00\xff", "", "\n", "", "\r", "").Replace(word.Draw(t, label))
			}
			s.Clusters, _ = draft.JoinClusters([]draft.Membership{{
				Host: "w-2", Cluster: word.Draw(t, "id"), Member: "1", ClientPort: 2379, Members: map[string]string{"1": "a", "2": word.Draw(t, "absent")},
				TLS: &engine.TLS{CA: path("ca"), Cert: "/c", Key: path("key")},
			}})
		}
		d, err := draft.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		inv := load(t, d.Text)
		h, _ := inv.Host("w-1")
		p, _ := inv.Pool(h.Pool)
		if p.OS == nil || !reflect.DeepEqual(*p.OS, honest) || len(inv.Hosts) != d.Hosts || len(inv.Pools) > 2 || len(inv.Clusters) != len(s.Clusters) {
			t.Fatalf("%+v of %d hosts, %d pools\n%.2000s", p.OS, len(inv.Hosts), len(inv.Pools), d.Text)
		}
		const longest = 200_000 // two paths of TLS of 64 KiB each may be true
		if told := strings.Join(d.Remarks, ""); len(d.Text) > longest || len(told) > 5000 || strings.Contains(told, "\n") {
			t.Fatalf("%d bytes, remarks of %d bytes: %.200q", len(d.Text), len(told), told)
		}
	})
}

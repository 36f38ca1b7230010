package draft_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"holdfast/engine"
	"holdfast/engine/draft"
	"holdfast/engine/inventory"
)

// TestDraftHasTheHosts checks that an inventory has exactly the hosts that it
// is made of, regardless of how they are folded: names, addresses, pools and
// settings of SSH.
func TestDraftHasTheHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draft.Site{Name: "berlin"}
		seen := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "hosts") {
			h := drawHost(t)
			if seen[h.Name] || seen["@"+h.Address] {
				continue
			}
			seen[h.Name], seen["@"+h.Address] = true, true
			s.Hosts = append(s.Hosts, h)
		}
		d, err := draft.Make(s)
		if err != nil {
			t.Fatal(err)
		}
		inv := load(t, d.Text)
		var got, want []string
		for _, h := range inv.Hosts {
			got = append(got, describe(h.Name, h.Address, h.Pool, h.SSH))
		}
		for _, h := range s.Hosts {
			ssh := engine.SSH{User: h.Connection.User, ProxyJump: h.Connection.ProxyJump}
			if slices.ContainsFunc(s.Hosts, func(h draft.Host) bool { return h.Connection.User != "root" }) {
				ssh.Become = "sudo"
			}
			ssh.Port, _ = strconv.Atoi(h.Connection.Port)
			want = append(want, describe(h.Name, h.Address, h.Group, ssh))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\ngot\n%s\nwant\n%s", d.Text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

func drawHost(t *rapid.T) draft.Host {
	id := rapid.SampledFrom([]string{"%d", "%02d", "%03d"}).Draw(t, "format")
	id = fmt.Sprintf(id, rapid.IntRange(0, 120).Draw(t, "id"))
	name := rapid.SampledFrom([]string{"w-%s", "w-a-%s", "gpu%s", "x.y%s", "x.y-%s", "www%s.example.com", "w-%s.example.com", "r1-n%sb.fra2.example", "%s.example"}).Draw(t, "name")
	name = fmt.Sprintf(name, id)
	return draft.Host{
		Name:    name,
		Address: fmt.Sprintf(rapid.SampledFrom([]string{"%[1]s", "10.0.0.%[3]d", "%[2]s.w-%[2]s.example", "1%[2]s.example", "fd00::%[3]d"}).Draw(t, "address"), name, id, rapid.IntRange(0, 255).Draw(t, "byte")),
		Group:   rapid.SampledFrom([]string{"web", "db_1", "Etcd"}).Draw(t, "group"),
		Others:  rapid.SampledFrom([][]string{nil, {"rack"}}).Draw(t, "others"),
		Connection: draft.Connection{
			User:      rapid.SampledFrom([]string{"", "core", "root", `a"${b}`}).Draw(t, "user"),
			Port:      rapid.SampledFrom([]string{"", "2222"}).Draw(t, "port"),
			ProxyJump: rapid.SampledFrom([]string{"", "gate"}).Draw(t, "jump"),
		},
		At: "hosts:1:1",
	}
}

func describe(name, address, pool string, ssh engine.SSH) string {
	return fmt.Sprintf("%s at %s in %s: %q %d %q %q", name, address, pool, ssh.User, ssh.Port, ssh.ProxyJump, ssh.Become)
}

func load(t interface{ Fatalf(string, ...any) }, text string) engine.Inventory {
	loaded, err := inventory.Load(inventory.Source{FS: fstest.MapFS{"inventory.hcl": {Data: []byte(text)}}, Paths: []string{"inventory.hcl"}})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return loaded.Inventory
}

// TestFoldsRanges checks that a range stays one block where that is exact.
func TestFoldsRanges(t *testing.T) {
	var s draft.Site
	s.Name = "berlin"
	add := func(name, address string) {
		s.Hosts = append(s.Hosts, draft.Host{Name: name, Address: address, Group: "worker", At: "hosts:1:1"})
	}
	for i := 1; i <= 48; i++ {
		if i != 13 {
			add(fmt.Sprintf("worker-%02d", i), fmt.Sprintf("worker-%02d.example", i))
		}
	}
	for i := 8; i <= 11; i++ {
		add(fmt.Sprintf("db-%d", i), fmt.Sprintf("10.0.0.%d", i))
	}
	add("db-12", "10.0.9.9")
	for i := 1; i <= 50; i++ {
		name := fmt.Sprintf("www%02d.example.com", i)
		add(name, name)
	}
	for _, name := range []string{"rack1-n3.fra2.example", "rack1-n4.fra2.example", "rack2-n4.fra2.example"} {
		add(name, name)
	}
	d, err := draft.Make(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"hosts \"www\" {\n  range   = \"01-50\"\n  name    = \"www${id}.example.com\"\n  address = \"www${id}.example.com\"\n",
		"hosts \"rack1-n\" {\n  range   = \"3-4\"\n  name    = \"rack1-n${id}.fra2.example\"\n  address = \"rack1-n${id}.fra2.example\"\n",
		"host \"rack2-n4.fra2.example\" {\n",
		"hosts \"worker\" {\n  range   = \"01-12,14-48\"\n  address = \"worker-${id}.example\"\n",
		"hosts \"db\" {\n  range   = \"8-11\"\n  address = \"10.0.0.${id}\"\n",
		"host \"db-12\" {\n  address = \"10.0.9.9\"\n",
	} {
		if !strings.Contains(d.Text, want) {
			t.Errorf("missing\n%s\nin\n%s", want, d.Text)
		}
	}
}

// TestNames checks that names are changed only if they must be, that each
// change is told, and that two hosts never get one name.
func TestNames(t *testing.T) {
	hosts := []draft.Host{
		{Name: "Web_1", Address: "web_1", Group: "a b", At: "hosts:1:1"},
		{Name: "same", Address: "WEB_1", Group: "a b", At: "hosts:2:1"},
		{Name: "bad", Address: "10.0.0.300", Group: "a b", At: "hosts:3:1"},
		{Name: "dotted", Address: "web_1.", Group: "a b", Connection: draft.Connection{Port: "22"}, At: "hosts:4:1"},
	}
	d, err := draft.Make(draft.Site{Name: "x", Hosts: hosts})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"hosts:1:1: host Web_1 is named web-1: names have lower-case letters, digits, dot and dash",
		`hosts:3:1: host bad is left out: "10.0.0.300" is not a name or an IP address`,
		"hosts:2:1: host same is left out: it has the address of web-1, so it is the same machine",
		"hosts:4:1: host dotted is left out: it has the address of web-1, so it is the same machine",
		"hosts:1:1: group a b becomes pool a-b: names have letters, digits, dot, dash and underscore",
	}
	if !slices.Equal(d.Remarks, want) {
		t.Errorf("%q", d.Remarks)
	}
	hosts = append(hosts,
		draft.Host{Name: "web-1", Address: "c", Group: "a-b", At: "hosts:4:1"},
		draft.Host{Name: "___", Address: "d", Group: "…", At: "hosts:5:1"},
		draft.Host{Name: "e", Address: "e", Group: "a-b", At: "hosts:6:1"})
	_, err = draft.Make(draft.Site{Name: "x", Hosts: hosts})
	if err == nil || err.Error() != `hosts:4:1: host "web-1" would get the name web-1, as "Web_1" of hosts:1:1; rename one
hosts:5:1: host "___": no name of holdfast can be made of it; rename it to lower-case letters, digits, dot and dash
hosts:6:1: group "a-b" would become pool a-b, as group "a b"; rename one` {
		t.Errorf("%v", err)
	}
}

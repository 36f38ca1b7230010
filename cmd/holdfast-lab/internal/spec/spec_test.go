package spec

import (
	"strings"
	"testing"
)

func TestDefault(t *testing.T) {
	s, err := Parse("default.hcl", DefaultHCL)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range s.Hosts {
		names = append(names, h.Name+"="+h.Address())
	}
	got := strings.Join(names, " ")
	want := "etcd-0=10.77.0.11 etcd-1=10.77.0.12 etcd-2=10.77.0.13 worker-01=10.77.0.14 worker-02=10.77.0.15"
	if got != want {
		t.Errorf("hosts\n got %s\nwant %s", got, want)
	}
	c, ok := s.Cluster("main")
	if !ok || strings.Join(c.Hosts, " ") != "etcd-0 etcd-1 etcd-2" {
		t.Errorf("cluster main = %v, %v", c, ok)
	}
	if got := strings.Join(s.Pools(), " "); got != "etcd worker" {
		t.Errorf("pools = %s", got)
	}
}

func TestParseIgnoresTheRest(t *testing.T) {
	const src = `
site "x" {
  ssh { user = "core" }
}
variable "commit" { default = "abc" }
locals { n = 1 }
etcd_cluster "a" { client_port = 2379 }
etcd_cluster "b" { client_port = 2379 }
pool "p" {
  after = ["q"]
  os { commit = var.commit }
}
host "one" {
  address      = cidrhost(local.net, 3)
  pool         = "p"
  etcd_cluster = "b"
}
hosts "many" {
  range   = "8-11"
  address = "many-${id}.example"
  pool    = "p"
  vars    = { a = nothing.at.all }
}`
	s, err := Parse("x.hcl", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Hosts) != 5 || s.Hosts[4].Name != "many-11" || s.Hosts[1].Name != "many-8" {
		t.Errorf("hosts = %v", s.Hosts)
	}
	if a, _ := s.Cluster("a"); len(a.Hosts) != 0 {
		t.Errorf("cluster a has %v", a.Hosts)
	}
}

func TestMachines(t *testing.T) {
	s, err := Parse("x.hcl", []byte("host \"a\" {\n pool = \"p\"\n}\nhosts \"b\" {\n pool = \"p\"\n range = \"0-1\"\n machine = \"qemu\"\n}"))
	if err != nil || s.Hosts[0].Machine != "" || s.Hosts[2].Machine != Qemu || !s.HasQemu() {
		t.Errorf("%+v, %v", s, err)
	}
	if s.Hosts = s.Hosts[:1]; s.HasQemu() {
		t.Error("a container runs in qemu")
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"no host", ``, "there is none"},
		{"syntax", `host "a" {`, "x.hcl:1"},
		{"no pool", `host "a" {}`, `"pool" is required`},
		{"twice", "host \"a\" {\n pool = \"p\"\n}\nhost \"a\" {\n pool = \"p\"\n}", "declared twice"},
		{"name", "host \"A_\" {\n pool = \"p\"\n}", "not a host name"},
		{"cluster", "host \"a\" {\n pool = \"p\"\n etcd_cluster = \"x\"\n}", `no etcd_cluster "x"`},
		{"range", "hosts \"a\" {\n pool = \"p\"\n range = \"9-1\"\n}", "is not like"},
		{"machine", "host \"a\" {\n pool = \"p\"\n machine = \"xen\"\n}", `machine must be qemu, or missing for a container, not "xen"`},
		{"huge", "hosts \"a\" {\n pool = \"p\"\n range = \"1-999999999\"\n}", "is not like"},
	} {
		_, err := Parse("x.hcl", []byte(c.src))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

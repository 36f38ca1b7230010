package inventory_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

func load(t *testing.T, src string, vars ...string) (inventory.Loaded, error) {
	t.Helper()
	return inventory.Load(inventory.Source{FS: fstest.MapFS{"site/a.hcl": {Data: []byte(src)}}, Paths: []string{"site"}, Vars: vars, Home: "/home/ann"})
}

func TestOneOfEverything(t *testing.T) {
	l, err := load(t, `
site "berlin" {
  ssh {
    user        = "core"
    known_hosts = "known_hosts"
    identity    = "~/.ssh/id"
  }
}
variable "os" { default = "0000000000000000000000000000000000000000000000000000000000000000" }
locals {
  net = "10.0.0.0/24"
  a   = "x${local.b}"
  b   = "y"
}
etcd_cluster "main" {}
pool "worker" {
  max_unavailable = "10%"
  os {
    driver   = "ostree"
    commit   = var.os
    min_free = "2GiB"
  }
  gate "ceph" {
    command = "ceph health"
    when    = ["before-batch"]
  }
}
host "w" {
  address = cidrhost(local.net, 5)
  pool    = "worker"
  zone    = local.a
  etcd_cluster = "main"
}
hosts "worker" {
  range   = "08-10"
  address = "worker-${id}.example"
  pool    = "worker"
}
`, "os="+strings.Repeat("4", 64))
	if err != nil {
		t.Fatal(err)
	}
	inv := l.Inventory
	if got := len(inv.Hosts); got != 4 {
		t.Fatalf("%d hosts, want 4", got)
	}
	if h := inv.Hosts[0]; h.Address != "10.0.0.5" || h.Zone != "xy" || h.SSH.KnownHosts[0] != "site/known_hosts" || h.SSH.Identities[0] != "/home/ann/.ssh/id" {
		t.Errorf("host w: %+v", h)
	}
	if h := inv.Hosts[1]; h.Name != "worker-08" || h.Address != "worker-08.example" {
		t.Errorf("first of the range: %+v", h)
	}
	if p := inv.Pools[0]; p.OS.Digest() != strings.Repeat("4", 64) || p.OS.MinFreeBytes != 2<<30 || p.MaxUnavailable.Of(40) != 4 {
		t.Errorf("pool: %+v", p)
	}
}

func TestAllErrorsAtOnce(t *testing.T) {
	_, err := load(t, `
site "berlin" {}
variable "token" {
  default   = "hunter2"
  sensitive = true
}
pool "worker" {
  max_unavailable = "60"
  vars            = {}
  os {
    driver = "ostree"
    ref    = "x"
  }
}
host "w1" {
  addres = "x"
  pool   = "wroker"
}
host "w2" {
  address = var.token
  pool    = "worker"
}
`)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		`site/a.hcl:8:21: max_unavailable is not a count or a percentage`, `vars is not supported by this version`, `os has no commit`,
		`unknown argument "addres": did you mean "address"?`, `host has no address`, `no pool "wroker": did you mean "worker"?`,
		`address would show a sensitive value`, "    8 |   max_unavailable = \"60\"\n      |                     ^^^^",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("missing %q in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows a secret:\n%v", err)
	}
}

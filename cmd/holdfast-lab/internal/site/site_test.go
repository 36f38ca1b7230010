package site

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"holdfast/cmd/holdfast-lab/internal/spec"
)

func TestInventoryDescribesTheSameHosts(t *testing.T) {
	want, err := spec.Parse("default.hcl", spec.DefaultHCL)
	if err != nil {
		t.Fatal(err)
	}
	for _, bmc := range []*BMC{nil, {Address: "10.77.0.1:8443", User: "holdfast"}} {
		checkInventory(t, want, RenderInventory(want, "lab/trixie/x86_64", strings.Repeat("a", 64), bmc))
	}
}

func checkInventory(t *testing.T, want spec.Spec, raw []byte) {
	t.Helper()
	if _, diags := hclsyntax.ParseConfig(raw, "inventory.hcl", hcl.InitialPos); diags.HasErrors() {
		t.Fatal(diags)
	}
	got, err := spec.Parse("inventory.hcl", raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Hosts) != len(want.Hosts) {
		t.Fatalf("%d hosts, want %d", len(got.Hosts), len(want.Hosts))
	}
	for i := range want.Hosts {
		if got.Hosts[i] != want.Hosts[i] {
			t.Errorf("host %d: got %v, want %v", i, got.Hosts[i], want.Hosts[i])
		}
	}
	for _, line := range []string{
		`  address      = "10.77.0.11"`, `  zone         = "rack-a"`, `  address = "10.77.0.14"`, "    commit = var.commit",
	} {
		if !strings.Contains(string(raw), "\n"+line+"\n") {
			t.Errorf("no line %q in\n%s", line, raw)
		}
	}
}

func TestKnownHosts(t *testing.T) {
	s := spec.Spec{Hosts: []spec.Host{{Name: "a", Index: 1}, {Name: "b", Index: 2}}}
	_, public, err := NewKey("a")
	if err != nil {
		t.Fatal(err)
	}
	got := string(RenderKnownHosts(s, map[string]string{"a": public}))
	if !strings.HasPrefix(got, "10.77.0.11 ssh-ed25519 AAAA") || strings.Count(got, "\n") != 1 {
		t.Errorf("got %q", got)
	}
}

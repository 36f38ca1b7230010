package spec

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/gohcl"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// DefaultHCL is the inventory used when none is given.
//
//go:embed default.hcl
var DefaultHCL []byte

// document is the part of an inventory that determines the hosts. Parse ignores
// the rest.
type document struct {
	Clusters []named  `hcl:"etcd_cluster,block"`
	Pools    []named  `hcl:"pool,block"`
	Hosts    []single `hcl:"host,block"`
	Ranges   []ranged `hcl:"hosts,block"`
	Rest     hcl.Body `hcl:",remain"`
}

type named struct {
	Name string   `hcl:"name,label"`
	Rest hcl.Body `hcl:",remain"`
}

type single struct {
	Name    string   `hcl:"name,label"`
	Pool    string   `hcl:"pool"`
	Cluster string   `hcl:"etcd_cluster,optional"`
	Zone    string   `hcl:"zone,optional"`
	Machine string   `hcl:"machine,optional"`
	Rest    hcl.Body `hcl:",remain"`
}

type ranged struct {
	Name    string   `hcl:"name,label"`
	Range   string   `hcl:"range"`
	Pool    string   `hcl:"pool"`
	Cluster string   `hcl:"etcd_cluster,optional"`
	Zone    string   `hcl:"zone,optional"`
	Machine string   `hcl:"machine,optional"`
	Rest    hcl.Body `hcl:",remain"`
}

// Parse reads an inventory. It uses name only in errors.
func Parse(name string, src []byte) (Spec, error) {
	f, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	if diags.HasErrors() {
		return Spec{}, fmt.Errorf("read inventory: %w", diags)
	}
	var doc document
	if diags := gohcl.DecodeBody(f.Body, nil, &doc); diags.HasErrors() {
		return Spec{}, fmt.Errorf("read inventory: %w", diags)
	}
	s, err := doc.toSpec()
	if err != nil {
		return Spec{}, fmt.Errorf("read inventory %s: %w", name, err)
	}
	return s, s.Validate()
}

func (d document) toSpec() (Spec, error) {
	var s Spec
	for _, h := range d.Hosts {
		s.Hosts = append(s.Hosts, Host{Name: h.Name, Pool: h.Pool, Cluster: h.Cluster, Zone: h.Zone, Machine: h.Machine})
	}
	for _, r := range d.Ranges {
		ids, err := expandRange(r.Range)
		if err != nil {
			return s, fmt.Errorf("hosts %q: %w", r.Name, err)
		}
		for _, id := range ids {
			s.Hosts = append(s.Hosts, Host{Name: r.Name + "-" + id, Pool: r.Pool, Cluster: r.Cluster, Zone: r.Zone, Machine: r.Machine})
		}
	}
	for i := range s.Hosts {
		s.Hosts[i].Index = i + 1
	}
	for _, c := range d.Clusters {
		members := Cluster{Name: c.Name}
		for _, h := range s.Hosts {
			if h.Cluster == c.Name {
				members.Hosts = append(members.Hosts, h.Name)
			}
		}
		s.Clusters = append(s.Clusters, members)
	}
	return s, nil
}

// expandRange gives all numbers the width of the first one.
func expandRange(r string) ([]string, error) {
	first, last, ok := strings.Cut(r, "-")
	lo, err1 := strconv.Atoi(first)
	hi, err2 := strconv.Atoi(last)
	if !ok || err1 != nil || err2 != nil || lo < 0 || hi < lo || hi-lo >= maxHosts {
		return nil, fmt.Errorf("range %q is not like \"01-48\" with at most %d hosts", r, maxHosts)
	}
	ids := make([]string, 0, hi-lo+1)
	for n := lo; n <= hi; n++ {
		ids = append(ids, fmt.Sprintf("%0*d", len(first), n))
	}
	return ids, nil
}

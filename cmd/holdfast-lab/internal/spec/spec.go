// Package spec describes the hosts of a lab: their names, pools, etcd clusters,
// zones and addresses. It reads them from an inventory, and ignores the rest of
// the inventory. It does no I/O.
package spec

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// These are the limits of the lab's network, a /24. Its first ten addresses do
// not belong to hosts.
const (
	// network is the first three octets of the lab's network.
	network = "10.77.0"
	// Gateway is the address of the lab's bridge. OS content is served there.
	Gateway = network + ".1"
	// maxHosts is the number of hosts that fit into the network.
	maxHosts = 240

	firstHost = 10
)

// Spec describes a whole lab.
type Spec struct {
	Hosts    []Host    `json:"hosts"`
	Clusters []Cluster `json:"clusters"`
	// Kubernetes is true if the hosts are nodes of a Kubernetes cluster, whose data are in the first etcd cluster.
	Kubernetes bool `json:"kubernetes,omitempty"`
}

// Host is one machine. Index counts from 1, in the order of the inventory, and
// determines the address.
type Host struct {
	Name    string `json:"name"`
	Pool    string `json:"pool"`
	Cluster string `json:"cluster,omitempty"`
	Zone    string `json:"zone,omitempty"`
	Index   int    `json:"index"`
	// Machine is Qemu if the host has a kernel of its own; "" means a container.
	Machine string `json:"machine,omitempty"`
}

// Qemu is the machine of a host that runs in qemu.
const Qemu = "qemu"

// Cluster is one etcd cluster and the names of its members.
type Cluster struct {
	Name  string   `json:"name"`
	Hosts []string `json:"hosts"`
}

// Address returns the host's IPv4 address.
func (h Host) Address() string { return fmt.Sprintf("%s.%d", network, firstHost+h.Index) }

// HasQemu reports whether a host runs in qemu.
func (s Spec) HasQemu() bool {
	return slices.ContainsFunc(s.Hosts, func(h Host) bool { return h.Machine == Qemu })
}

// Host finds a host by name.
func (s Spec) Host(name string) (Host, bool) {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == name })
	if i < 0 {
		return Host{}, false
	}
	return s.Hosts[i], true
}

// Cluster finds an etcd cluster by name.
func (s Spec) Cluster(name string) (Cluster, bool) {
	i := slices.IndexFunc(s.Clusters, func(c Cluster) bool { return c.Name == name })
	if i < 0 {
		return Cluster{}, false
	}
	return s.Clusters[i], true
}

// Pools lists the pools in order of their first host.
func (s Spec) Pools() []string {
	var pools []string
	for _, h := range s.Hosts {
		if !slices.Contains(pools, h.Pool) {
			pools = append(pools, h.Pool)
		}
	}
	return pools
}

// A name is used as a host name, as a file name, and in a certificate.
var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// Validate returns all problems of s, joined into one error.
func (s Spec) Validate() error {
	var errs []error
	if len(s.Hosts) == 0 {
		errs = append(errs, errors.New("check hosts: there is none"))
	}
	if len(s.Hosts) > maxHosts {
		errs = append(errs, fmt.Errorf("check hosts: %d are more than the %d that fit", len(s.Hosts), maxHosts))
	}
	seen := map[string]bool{}
	for _, h := range s.Hosts {
		if !nameRule.MatchString(h.Name) {
			errs = append(errs, fmt.Errorf("check host %q: not a host name", h.Name))
		}
		if seen[h.Name] {
			errs = append(errs, fmt.Errorf("check host %q: declared twice", h.Name))
		}
		seen[h.Name] = true
		if h.Machine != "" && h.Machine != Qemu {
			errs = append(errs, fmt.Errorf("check host %q: machine must be %s, or missing for a container, not %q", h.Name, Qemu, h.Machine))
		}
		if _, ok := s.Cluster(h.Cluster); h.Cluster != "" && !ok {
			errs = append(errs, fmt.Errorf("check host %q: no etcd_cluster %q", h.Name, h.Cluster))
		}
	}
	if s.Kubernetes && len(s.Clusters) == 0 {
		errs = append(errs, errors.New("check Kubernetes: it needs an etcd_cluster for its data"))
	}
	for _, c := range s.Clusters {
		if !nameRule.MatchString(c.Name) {
			errs = append(errs, fmt.Errorf("check etcd_cluster %q: not a usable name", c.Name))
		}
	}
	return errors.Join(errs...)
}

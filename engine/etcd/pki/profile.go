package pki

import (
	"crypto/x509"
	"net"
	"slices"

	"holdfast/engine"
	"holdfast/engine/etcdfacts"
)

// Profile has the required contents of a certificate.
type Profile struct {
	Role       etcdfacts.CertificateRole // server, peer or client
	CommonName string
	Names      []string // DNS names and IP addresses, without repetitions
}

// Subject is a host that gets certificates.
type Subject struct {
	engine.Host
	ServerNames []string // DNS names and IP addresses that its server certificate has besides those of the host
}

// NewProfile returns the profile of a certificate of a host. A member presents its server certificate to clients, and its
// peer certificate to other members; both name the address of the inventory, because etcd compares the names of a peer
// with the address that it connects from. A client certificate names only its user.
func NewProfile(host Subject, role etcdfacts.CertificateRole) Profile {
	if role == etcdfacts.ClientCertificate {
		return Profile{Role: role, CommonName: clientUser}
	}
	names := []string{host.Address, host.Name}
	if role == etcdfacts.ServerCertificate {
		names = append(append(names, "localhost", "127.0.0.1", "::1"), host.ServerNames...)
	}
	p := Profile{Role: role, CommonName: host.Name}
	for _, name := range names {
		if name != "" && !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	return p
}

func (p Profile) dnsNames() []string {
	var names []string
	for _, name := range p.Names {
		if net.ParseIP(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

func (p Profile) addresses() []net.IP {
	var list []net.IP
	for _, name := range p.Names {
		if ip := net.ParseIP(name); ip != nil {
			list = append(list, ip)
		}
	}
	return list
}

// usages returns the allowed uses. A server certificate is for clients, too, because etcd's gateway connects to its own
// member. A peer both listens and connects.
func (p Profile) usages() []x509.ExtKeyUsage {
	if p.Role == etcdfacts.ClientCertificate {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
}

// hasNames reports whether a request or certificate has exactly the names of the profile.
func (p Profile) hasNames(dns []string, addresses []net.IP) bool {
	var names []string
	for _, ip := range addresses {
		names = append(names, ip.String())
	}
	var want []string
	for _, ip := range p.addresses() {
		want = append(want, ip.String())
	}
	return sameNames(dns, p.dnsNames()) && sameNames(names, want)
}

func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

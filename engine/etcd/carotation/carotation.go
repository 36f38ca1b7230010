package carotation

import "slices"

// CA identifies a CA, by the hash of its certificate.
type CA string

// Wanted is the goal of a rotation.
type Wanted struct {
	Issuer CA   // of all certificates
	Also   []CA // that members must trust, too, because clients have certificates from them
}

func (w Wanted) trusted() []CA { return sortedSet(append([]CA{w.Issuer}, w.Also...)) }

// HostTrust is the state of a member's host. holdfast, as a client, uses the same files.
type HostTrust struct {
	Host    string
	File    []CA // in the file of trusted CAs
	Loaded  []CA // that its etcd read when it started; etcd does not read the file again
	Issuers []CA // of its server, peer and client certificates, which etcd reads for each connection
}

// StepKind is the kind of a step of a rotation.
type StepKind string

// The steps.
const (
	TrustCAs StepKind = "trust"   // write the file of trusted CAs, and restart the member
	Reissue  StepKind = "reissue" // issue the certificates of the host again, with the new CA
)

// Step is the next step of a rotation.
type Step struct {
	Kind StepKind
	Host string
	CAs  []CA // for the file of trusted CAs, sorted
}

// NextStep returns the next step towards a cluster that trusts only the wanted CAs, or false if there is none. A step
// changes one host. Before and during each step, every member trusts the issuers of the certificates that members present.
func NextStep(goal Wanted, hosts []HostTrust) (Step, bool) {
	needed := NeededCAs(goal, hosts)
	for _, h := range hosts {
		if !containsAll(h.File, needed) || !containsAll(h.Loaded, needed) {
			return Step{Kind: TrustCAs, Host: h.Host, CAs: needed}, true
		}
	}
	for _, h := range hosts {
		if slices.ContainsFunc(h.Issuers, func(issuer CA) bool { return issuer != goal.Issuer }) {
			return Step{Kind: Reissue, Host: h.Host}, true
		}
	}
	only := goal.trusted()
	for _, h := range hosts {
		if !slices.Equal(sortedSet(h.File), only) || !slices.Equal(sortedSet(h.Loaded), only) {
			return Step{Kind: TrustCAs, Host: h.Host, CAs: only}, true
		}
	}
	return Step{}, false
}

// NeededCAs returns the CAs that every member must trust, sorted: the wanted CAs, and the issuers of all certificates in use.
func NeededCAs(goal Wanted, hosts []HostTrust) []CA {
	needed := goal.trusted()
	for _, h := range hosts {
		needed = append(needed, h.Issuers...)
	}
	return sortedSet(needed)
}

func sortedSet(list []CA) []CA {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func containsAll(list, wanted []CA) bool {
	return !slices.ContainsFunc(wanted, func(ca CA) bool { return !slices.Contains(list, ca) })
}

package membership

import (
	"fmt"
	"slices"
)

// PlaceByData returns the members with the hosts of those that do not answer corrected: the data of a host tell whose they
// are, and the name and the URLs of a member only suggest its host. A member is on no host if the one that they suggest has
// the data of another member that does not answer.
func PlaceByData(members []Member, hosts []Host) []Member {
	placed := slices.Clone(members)
	for i, m := range members {
		if m.Healthy {
			continue
		}
		holders := slices.DeleteFunc(slices.Clone(hosts), func(h Host) bool { return !h.hasDataOf(m) })
		if len(holders) == 0 {
			taken := func(h Host) bool {
				return h.Name == m.Host && slices.ContainsFunc(members, func(o Member) bool { return !o.Healthy && h.hasDataOf(o) })
			}
			if slices.ContainsFunc(hosts, taken) {
				placed[i].Host = ""
			}
		} else if !slices.ContainsFunc(holders, func(h Host) bool { return h.Name == m.Host }) {
			placed[i].Host = holders[0].Name
		}
	}
	return placed
}

// hasDataOf reports whether the host is known to have the data of a member of this cluster.
func (h Host) hasDataOf(m Member) bool {
	return h.Unreachable == "" && h.HasData && !h.Replaced && h.DataOf == m.ID && m.ID != ""
}

// mayHaveMember reports whether a host has the data of a listed member, or data that may be of one whose host is not known.
func (d decision) mayHaveMember(h Host) bool {
	return slices.ContainsFunc(d.Members, func(m Member) bool {
		return h.hasDataOf(m) || m.Host == "" && !m.Healthy && h.HasData && h.DataOf == ""
	})
}

// describeUnclaimed returns why a member is refused whose host is not known, and the next step. A host that may have its data
// comes first: a removal would cost a voter that only has to be started.
func (d decision) describeUnclaimed(m Member) string {
	advice := fmt.Sprintf("add its host to the inventory, retired if the member is to go, or remove it with --remove-member %s", m.DisplayName())
	for _, h := range d.Hosts {
		_, listed := d.findMember(h.Name)
		text := fmt.Sprintf("member %s is not known to be on a host that names the cluster; it may be of %s ", m.DisplayName(), h.Name)
		switch {
		case m.Healthy || listed:
		case h.Unreachable != "":
			return text + fmt.Sprintf("(%s): bring it back, or else %s", h.Unreachable, advice)
		case h.HasData && h.DataOf == "":
			return text + "(data of which it is not known whose they are): start etcd there, or else " + advice
		}
	}
	return fmt.Sprintf("member %s is on no host that names the cluster; %s", m.DisplayName(), advice)
}

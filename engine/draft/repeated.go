package draft

import (
	"slices"
	"strconv"

	"holdfast/engine/inventory"
	"holdfast/engine/textutil"
)

// dropRepeated leaves hosts out that are reached in the same way as a host before them: they are the same
// machine. A host whose way is not known may be the same machine as any other at its address, and is left out, too.
func (m *maker) dropRepeated(hosts []Host) []Host {
	wayOf := func(h Host) inventory.Way {
		port, _ := strconv.Atoi(h.Connection.Port) // "" is 0, the default
		return inventory.NewWay(h.Address, port, h.Connection.ProxyJump)
	}
	addressOf := func(h Host) inventory.Way { return inventory.NewWay(h.Address, 0, "") } // in one spelling
	count := map[inventory.Way]int{}                                                      // of the hosts at an address
	for _, h := range hosts {
		count[addressOf(h)]++
	}
	first := map[inventory.Way]Host{}
	var unknown textutil.Groups[string, string]
	hosts = slices.DeleteFunc(hosts, func(h Host) bool {
		way := wayOf(h)
		other, known := first[way]
		switch {
		case h.wayUnknown && count[addressOf(h)] > 1:
			unknown.Add(h.At, h.Name)
			return true
		case known:
			m.addRemark(h.At, "host %s is left out: it has the address of %s, so it is the same machine", h.Name, other.Name)
			return true
		}
		first[way] = h
		return false
	})
	for at, names := range unknown.All() {
		m.addRemark(at, "left out, because their port or jump host is not known and other hosts have their address; add them by hand: %s", foldFew(names, ", "))
	}
	return hosts
}

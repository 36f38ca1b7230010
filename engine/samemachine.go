package engine

import (
	"fmt"
	"maps"
	"slices"
)

// MarkSameMachines replaces the facts of hosts that run the same boot of the same kernel: they are names of one machine,
// because an address of the inventory or of a name server is wrong, or has been given to another machine. Nobody knows which
// of the names is the right one, so each of them counts as unreachable. It returns the names of these hosts.
func MarkSameMachines(facts map[string]Facts) []string {
	names := map[string][]string{} // by boot ID of the kernel
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		if f := facts[name]; f.Reached() && f.BootID != "" {
			names[f.BootID.Kernel()] = append(names[f.BootID.Kernel()], name)
		}
	}
	var marked []string
	for _, same := range names {
		for i, name := range same {
			if len(same) == 1 {
				break
			}
			other := same[0]
			if i == 0 {
				other = same[1]
			}
			facts[name] = Facts{Host: name, Unreachable: fmt.Sprintf("the same machine answers for this host and for %s (boot ID %s); correct the address of one of them, in the inventory, ssh_config or DNS", other, facts[name].BootID.Kernel())}
			marked = append(marked, name)
		}
	}
	slices.Sort(marked)
	return marked
}

package kubefacts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine/textutil"
)

// Host is a host that should be a node.
type Host struct {
	Name    string
	Address string
}

// MatchHosts finds the node of each host, by name. The node of a host has the name of the host,
// or reports its name or its address. The state of a host without exactly one node has a
// Problem, and so has the state of two hosts with one node.
func (c ClusterFacts) MatchHosts(hosts []Host, now time.Time) map[string]NodeState {
	states := make(map[string]NodeState, len(hosts))
	if c.Problem != nil {
		for _, h := range hosts {
			states[h.Name] = NodeState{Kubernetes: c.Name, APIAway: true, MayRun: c.Problem.Kind.IsOfBastion(), Problem: fmt.Sprintf("the API of Kubernetes cluster %s does not tell: %s", c.Name, c.Problem.Cause)}
		}
		return states
	}
	nodes := c.nodesByAddress()
	hostOf := map[string]string{} // by node
	for _, h := range hosts {
		found := unionOf(nodes[textutil.NormalizeAddress(h.Name)], nodes[textutil.NormalizeAddress(h.Address)])
		switch other := ""; len(found) {
		case 1:
			if other = hostOf[c.Nodes[found[0]].Name]; other != "" {
				problem := fmt.Sprintf("node %s of Kubernetes cluster %s is also that of ", c.Nodes[found[0]].Name, c.Name)
				states[h.Name] = NodeState{Kubernetes: c.Name, Problem: problem + other}
				states[other] = NodeState{Kubernetes: c.Name, Problem: problem + h.Name}
				continue
			}
			hostOf[c.Nodes[found[0]].Name] = h.Name
			states[h.Name] = c.stateOf(c.Nodes[found[0]], now)
		case 0:
			states[h.Name] = NodeState{Kubernetes: c.Name, Problem: fmt.Sprintf("Kubernetes cluster %s has no node with the name %s or the address %s", c.Name, h.Name, h.Address)}
		default:
			states[h.Name] = NodeState{Kubernetes: c.Name, Problem: fmt.Sprintf("Kubernetes cluster %s has %d nodes with its name or address: %s", c.Name, len(found), c.nameNodes(found))}
		}
	}
	return states
}

// nodesByAddress returns the positions in Nodes of all nodes with a name or an address.
func (c ClusterFacts) nodesByAddress() map[string][]int {
	found := map[string][]int{}
	for i, n := range c.Nodes {
		words := []string{textutil.NormalizeAddress(n.Name)}
		for _, a := range n.Addresses {
			if a = textutil.NormalizeAddress(a); !slices.Contains(words, a) {
				words = append(words, a)
			}
		}
		for _, w := range words {
			found[w] = append(found[w], i)
		}
	}
	return found
}

func unionOf(a, b []int) []int {
	union := append(slices.Clone(a), b...)
	slices.Sort(union)
	return slices.Compact(union)
}

func (c ClusterFacts) nameNodes(positions []int) string {
	const examples = 5
	var names []string
	for _, i := range positions[:min(len(positions), examples)] {
		names = append(names, c.Nodes[i].Name)
	}
	if more := len(positions) - examples; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

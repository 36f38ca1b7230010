package simulator

import (
	"fmt"
	"time"

	"holdfast/engine/kubefacts"
)

// This file has everything that people and other tools do to a Kubernetes cluster.

// ChangeNode does something to the node of a host, if the host is a node. It returns whether it is one.
func (s *Site) changeNode(host string, do func(k *NodeCluster, n *clusterNode, now time.Time)) {
	s.withLock(func(now time.Time) {
		for _, k := range s.kubernetes {
			k.advanceTo(now)
			if n := k.findNode(host); n != nil {
				do(k, n, now)
			}
		}
	})
}

// CordonNode lets a person cordon the node of a host. A person who finds it cordoned by a run uncordons it first: kubectl cordon changes
// nothing otherwise.
func (s *Site) CordonNode(host string) {
	s.changeNode(host, func(_ *NodeCluster, n *clusterNode, _ time.Time) {
		n.Cordoned, n.byPerson = true, true
		s.addToLog("somebody cordons %s", host)
	})
}

// UncordonNode lets a person uncordon the node of a host. kubectl leaves the annotation of a run.
func (s *Site) UncordonNode(host string) {
	s.changeNode(host, func(_ *NodeCluster, n *clusterNode, now time.Time) {
		n.Cordoned, n.byPerson, n.uncordoned = false, false, now
		s.addToLog("somebody uncordons %s", host)
	})
}

// RegisterNode lets a person delete the node of a host, and its kubelet register it again.
func (s *Site) RegisterNode(host string) {
	s.changeNode(host, func(k *NodeCluster, n *clusterNode, now time.Time) {
		k.made++
		if n.Cordoned {
			n.uncordoned = now
		}
		n.UID, n.Cordoned, n.CordonedBy, n.byPerson = fmt.Sprintf("uid-%s-%d", host, k.made), false, "", false
		delete(k.leases, host) // the node owned it
		s.addToLog("%s registers its node again", host)
	})
}

// LeaseNode lets another tool take the lease of the node, unless the lease is valid. It was renewed that long ago.
func (s *Site) LeaseNode(host string, ago, duration time.Duration) {
	s.changeNode(host, func(k *NodeCluster, _ *clusterNode, now time.Time) {
		if !k.NoLeases && !k.leases[host].IsValid(now) {
			k.leases[host] = kubefacts.Lease{Node: host, Holder: "nhc", RenewedAt: now.Add(-ago), Duration: duration}
			s.addToLog("nhc takes the lease of %s", host)
		}
	})
}

// MaintainNode adds a NodeMaintenance for the node of a host.
func (s *Site) MaintainNode(host string) {
	s.changeNode(host, func(k *NodeCluster, _ *clusterNode, now time.Time) { k.maintenances[host] = now })
}

// SickenNode stops the kubelet of a host, or heals it.
func (s *Site) SickenNode(host string, sick bool) {
	s.changeNode(host, func(_ *NodeCluster, n *clusterNode, _ time.Time) { n.sick = sick })
}

// DeletePods lets a person delete all pods of the node of a host that a controller makes again.
func (s *Site) DeletePods(host string) {
	s.changeNode(host, func(k *NodeCluster, _ *clusterNode, now time.Time) {
		for _, p := range k.pods {
			if p.node == host && p.app != nil && p.ends.IsZero() {
				p.ends = now.Add(time.Second)
			}
		}
		s.addToLog("somebody deletes the pods of %s", host)
	})
}

// TightenBudgets lets all budgets of the clusters of a host need all of their pods.
func (s *Site) TightenBudgets(host string) {
	s.changeNode(host, func(k *NodeCluster, _ *clusterNode, _ time.Time) {
		for _, a := range k.apps {
			a.Needs = a.Replicas
		}
		s.addToLog("somebody tightens the budgets of %s", k.Name)
	})
}

// TakeAPIAway lets the API of a cluster of the host not answer for a while.
func (s *Site) TakeAPIAway(host string, while time.Duration) {
	s.changeNode(host, func(k *NodeCluster, _ *clusterNode, now time.Time) {
		k.away = now.Add(while)
		s.addToLog("the API of %s is away", k.Name)
	})
}

// Repair lets people end everything that stops a drain, and everything that they and other tools have done to nodes. Cordons and leases of
// runs stay.
func (k *NodeCluster) Repair() {
	k.site.withLock(func(now time.Time) {
		k.away, k.maintenances = time.Time{}, map[string]time.Time{}
		for _, n := range k.nodes {
			if n.sick = false; n.byPerson {
				n.Cordoned, n.byPerson = false, false
			}
			if l := k.leases[n.Name]; !l.IsOwn() {
				delete(k.leases, n.Name)
			}
		}
		for _, a := range k.apps {
			a.Needs, a.TwoBudgets, a.charged, a.EmptyDir = min(a.Needs, a.Replicas-1), false, nil, false
		}
		for _, p := range k.pods {
			if p.app != nil && p.app.NoMaker {
				p.ends = now
			}
		}
		k.advanceTo(now)
	})
}

// Leftovers returns everything that runs have left behind in a cluster in which no run works.
func (k *NodeCluster) Leftovers() (list []string) {
	k.site.withLock(func(time.Time) {
		for _, n := range k.nodes {
			if n.Cordoned && !n.byPerson && n.CordonedBy != "" {
				list = append(list, fmt.Sprintf("node %s is left cordoned by %s", n.Name, n.CordonedBy))
			}
			if l := k.leases[n.Name]; l.IsOwn() {
				list = append(list, fmt.Sprintf("the lease of node %s is left to %s", n.Name, l.Holder))
			}
		}
	})
	return list
}

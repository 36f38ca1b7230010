package inventory

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
)

func (b *builder) checkInventory() {
	blocks := b.root.childBlocks("pool")
	for _, n := range blocks {
		b.checkPredecessors(n)
	}
	if len(blocks) > engine.MaxPools {
		b.addError(blocks[engine.MaxPools].at, fmt.Sprintf("the inventory has %d pools; the limit is %d", len(blocks), engine.MaxPools), "merge pools, or split the site into several inventories")
	}
	members := map[string]int{}
	pools := map[string]int{}
	for _, h := range b.inv.Hosts {
		if !h.Retired {
			members[h.Cluster]++
		}
		pools[h.Pool]++
	}
	b.checkEmptyClusters()
	kubernetesReader{b}.checkUnused()
	b.checkRetired()
	b.checkMemberAddresses()
	keepReader{b}.checkMembers()
	powerReader{b}.checkResets()
	for _, block := range b.root.childBlocks("etcd_cluster") {
		switch n, at := members[block.label], describePosition(block.at); {
		case n > 7:
			b.addWarning("%s: etcd_cluster %q has %d members: more than 7 make every write slower; etcd recommends at most 7", at, block.label, n)
		case n > 0 && n%2 == 0:
			b.addWarning("%s: etcd_cluster %q has %d members: an even number survives no more failures than %d would", at, block.label, n, n-1)
		}
	}
	for _, p := range b.inv.Pools {
		if pools[p.Name] == 0 {
			b.addWarning("pool %q has no hosts", p.Name)
		}
		if c := p.Canary; c != nil && pools[p.Name] > 0 && c.Hosts.Of(pools[p.Name]) >= pools[p.Name] {
			b.addWarning("pool %q: its canary is all of its hosts (%d), so no host follows; reduce the canary's hosts, or remove the canary block", p.Name, pools[p.Name])
		}
		if p.MaxSkew != nil && len(p.After) == 0 {
			b.addWarning("pool %q: max_skew has no effect; set \"after\" to the pools to compare with", p.Name)
		}
		if p.Name == "all" && pools[p.Name] < len(b.inv.Hosts) {
			b.addWarning("pool %q: -l all selects all hosts, not only this pool; rename it", p.Name)
		}
	}
	if len(b.inv.Hosts) == 0 {
		b.addWarning("the inventory has no hosts")
	}
	warnOfUsers(b)
}

// warnOfUsers warns of users who would have to become root, and cannot.
func warnOfUsers(b *builder) {
	var users textutil.Groups[string, string]
	for _, h := range b.inv.Hosts {
		if u := h.SSH.User; u != "" && u != "root" && h.SSH.Become == "" {
			users.Add(u, h.Name)
		}
	}
	for user, hosts := range users.All() {
		hosts = textutil.FoldNames(hosts)
		names := strings.Join(textutil.AndMore(hosts[:min(len(hosts), 5)], len(hosts)), ", ")
		b.addWarning("%s: user %q is not root; set become = \"sudo\" in the ssh block", names, user)
	}
}

// checkEmptyClusters adds an error for every etcd cluster without hosts. Its hosts probably lack etcd_cluster, and a
// run would disrupt them as if they ran no etcd. After other errors checkEmptyClusters does nothing: a host with an
// error may be a host of the cluster.
func (b *builder) checkEmptyClusters() {
	if b.diags.HasErrors() {
		return
	}
	for _, n := range b.root.childBlocks("etcd_cluster") {
		if len(b.inv.Members(n.label)) == 0 {
			b.addError(n.at, fmt.Sprintf("etcd_cluster %q has no hosts", n.label), fmt.Sprintf("set etcd_cluster = %q on its hosts, or remove the block", n.label))
		}
	}
}

// retiredHost is a host with etcd_retired, or one host of a range with it.
type retiredHost struct {
	block   *node
	cluster string
}

// checkRetired adds an error for a retired host whose cluster holdfast does not
// manage: members apply would never remove the member of that host. A range has
// one error.
func (b *builder) checkRetired() {
	if b.diags.HasErrors() {
		return
	}
	var last *node
	for _, h := range b.retired {
		if c, ok := b.inv.Cluster(h.cluster); h.block == last || ok && c.Managed != nil {
			continue
		}
		last = h.block
		b.addError(h.block.args["etcd_retired"].Expr.Range(), "etcd_retired has no effect without an etcd_cluster that has manage = true", "remove it, or set manage = true in the cluster")
	}
}

func (b *builder) addWarning(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
}

func (b *builder) checkPredecessors(n *node) {
	p, ok := b.inv.Pool(n.label)
	if !ok {
		return
	}
	for _, name := range p.After {
		b.checkReference(n, "after", name, "pool")
	}
	// Only one pool reports the cycle: the one whose name sorts first.
	if cycle := b.findCycle(n.label, n.label, map[string]bool{}); cycle != nil && n.label == slices.Min(cycle) {
		b.addError(n.args["after"].Expr.Range(), "pools wait for each other", strings.Join(cycle, " comes after "))
	}
}

// findCycle returns a path from pool along "after" to goal, or nil. It skips the pools in
// visited, which are searched already.
func (b *builder) findCycle(pool, goal string, visited map[string]bool) []string {
	if visited[pool] {
		return nil
	}
	visited[pool] = true
	p, _ := b.inv.Pool(pool)
	for _, name := range p.After {
		if name == goal {
			return []string{pool, goal}
		}
		if found := b.findCycle(name, goal, visited); found != nil {
			return append([]string{pool}, found...)
		}
	}
	return nil
}

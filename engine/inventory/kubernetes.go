package inventory

import (
	"cmp"
	"fmt"

	"holdfast/engine"
)

func kubernetesBlock() block {
	return block{name: "kubernetes", label: "name", many: true, meaning: "A Kubernetes cluster whose nodes are hosts of the site (docs/kubernetes.md). Its pools, or hosts, name it.", arguments: []argument{
		{name: "kubeconfig", kind: text, required: true, meaning: "file on the bastion that tells how to reach its API and how to log in"},
		{name: "context", kind: text, fallback: "the current context of the kubeconfig", meaning: "context of the kubeconfig"},
		{name: "timeout", kind: duration, fallback: "30s", meaning: "for gathering facts from its API"},
	}}
}

// kubernetesReader reads kubernetes blocks, and the arguments that name them.
type kubernetesReader struct{ *builder }

func (b kubernetesReader) readCluster(n *node) {
	r := b.newReader(n)
	c := engine.KubernetesCluster{
		Name: b.checkName("kubernetes", n, nameRule), Kubeconfig: r.readPath("kubeconfig"), Context: r.readText("context"), Timeout: r.readDuration("timeout"),
		Positions: map[string]string{"": describePosition(n.at)},
	}
	for name, a := range n.args {
		c.Positions[name] = describePosition(a.Expr.Range())
	}
	b.inv.Kubernetes = append(b.inv.Kubernetes, c)
}

// clusterOf returns the Kubernetes cluster of a host: its own, or that of its pool.
func (b kubernetesReader) clusterOf(r reader, pool string) string {
	own := r.readText("kubernetes")
	b.checkReference(r.node, "kubernetes", own, "kubernetes")
	p, _ := b.inv.Pool(pool)
	return cmp.Or(own, p.Kubernetes)
}

// checkUnused adds an error for every Kubernetes cluster without hosts. Its hosts probably lack the argument,
// and a run would take none of their nodes into account. After other errors checkUnused does nothing: a host
// with an error may be a node of the cluster.
func (b kubernetesReader) checkUnused() {
	if b.diags.HasErrors() {
		return
	}
	used := map[string]bool{}
	for _, h := range b.inv.Hosts {
		used[h.Kubernetes] = true
	}
	for _, n := range b.root.childBlocks("kubernetes") {
		if !used[n.label] {
			b.addError(n.at, fmt.Sprintf("kubernetes %q has no hosts", n.label), fmt.Sprintf("set kubernetes = %q in the pools of its nodes, or remove the block", n.label))
		}
	}
}

package inventory

import (
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
)

func drainBlock() block {
	return block{name: "drain", label: "name", meaning: "Moves work off a host before it is disrupted: by commands on the bastion, with HOLDFAST_HOST, HOLDFAST_ADDRESS, HOLDFAST_POOL and HOLDFAST_RUN set, or through the API of Kubernetes (docs/kubernetes.md).", arguments: []argument{
		{name: "kind", kind: text, fallback: "\"command\"", meaning: "\"command\": `command` drains and `undo` undrains; \"kubernetes\": holdfast cordons the node and evicts its pods, with the arguments from `grace_period` on, which are those of kubectl drain"},
		{name: "command", kind: text, meaning: "moves work off; required for the kind \"command\""},
		{name: "undo", kind: text, meaning: "lets work return; also when the host is released without a disruption"},
		{name: "timeout", kind: duration, fallback: "10m", meaning: "for each of the commands, or for the whole drain of the node"},
		{name: "grace_period", kind: duration, fallback: "each pod's own", meaning: "time between SIGTERM and SIGKILL, in whole seconds"},
		{name: "force", kind: boolean, fallback: "false", meaning: "also evict pods that no controller makes again"},
		{name: "delete_emptydir_data", kind: boolean, fallback: "false", meaning: "also evict pods with an emptyDir, whose data end with them"},
		{name: "pod_selector", kind: text, fallback: "all pods", meaning: "label selector of the pods to evict, such as \"app!=cache\"; the others stay"},
		{name: "share_budgets", kind: boolean, fallback: "false", meaning: "hosts may be in one batch although a PodDisruptionBudget of their pods does not allow all of their evictions at once: their drains wait for each other, which ends well if the pods find room on other nodes. Budgets of pods that tolerate a cordon are not shared: these come back, and would go down together"},
		{name: "on_timeout", kind: text, fallback: "\"fail\"", meaning: "reaction to pods that are left: \"fail\" uncordons the node and gives the host back, \"continue\" disrupts it with them"},
		{name: "blocked", kind: text, fallback: "\"refuse\"", meaning: "reaction to a drain that cannot succeed: \"refuse\" leaves the host out of the plan, \"warn\" only warns"},
		{name: "when_unreachable", kind: text, fallback: "\"exclude\"", meaning: "reaction to an API that does not answer: \"exclude\" leaves the host out of the plan, \"skip\" disrupts it without a drain, for the hosts that the API itself depends on"},
	}}
}

// drainReader reads drain blocks.
type drainReader struct{ *builder }

// drainKind is the kind of a drain.
type drainKind string

const kubernetesDrain drainKind = "kubernetes"

func (b drainReader) readDrain(n, pool *node, p engine.Pool) *engine.Drain {
	r := b.newReader(n)
	d := &engine.Drain{Name: b.checkDisplayName(n), Command: r.readText("command"), Undo: r.readText("undo"), Timeout: r.readDuration("timeout")}
	switch kind := readChoice(r, "kind", "command", kubernetesDrain); {
	case r.isWrong("kind"):
		return d
	case kind == kubernetesDrain:
		b.refuseArguments(n, "a drain of the kind \"kubernetes\" has no commands", "command", "undo")
		if p.Kubernetes == "" && !b.newReader(pool).isWrong("kubernetes") {
			b.addError(n.at, fmt.Sprintf("pool %q names no Kubernetes cluster whose nodes could be drained", p.Name), "set kubernetes in the pool")
		}
		d.Kubernetes = b.readOptions(r)
		return d
	}
	b.refuseArguments(n, "only a drain of the kind \"kubernetes\" has this argument", "grace_period", "force", "delete_emptydir_data", "pod_selector", "share_budgets", "on_timeout", "blocked", "when_unreachable")
	if n.args["command"] == nil {
		b.addError(n.at, fmt.Sprintf("drain %q has no command", n.label), "set command, or kind = \"kubernetes\"")
	}
	return d
}

func (b drainReader) readOptions(r reader) *engine.KubernetesDrain {
	k := &engine.KubernetesDrain{
		Force: r.readBool("force", false), DeleteEmptydirData: r.readBool("delete_emptydir_data", false), PodSelector: r.readText("pod_selector"), ShareBudgets: r.readBool("share_budgets", false),
		OnTimeout: readChoice(r, "on_timeout", "fail", engine.ContinueOnTimeout), Blocked: readChoice(r, "blocked", "refuse", engine.WarnOfBlocked),
		WhenUnreachable: readChoice(r, "when_unreachable", "exclude", engine.SkipUnreachable),
	}
	if r.node.args["grace_period"] != nil {
		grace := r.readDuration("grace_period")
		k.GracePeriod = &grace
	}
	if _, err := kubefacts.ParseSelector(k.PodSelector); err != nil {
		b.addError(r.node.args["pod_selector"].Expr.Range(), "pod_selector: "+err.Error(), "write it as for kubectl --selector")
	}
	return k
}

// refuseArguments adds an error for each of the arguments that the block has.
func (b drainReader) refuseArguments(n *node, problem string, names ...string) {
	for name, a := range n.args {
		if slices.Contains(names, name) {
			b.addError(a.NameRange, name+": "+problem, "remove it, or change the kind")
		}
	}
}

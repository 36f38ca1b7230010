package simulator

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"holdfast/engine/kubefacts"
)

// Kubernetes is a Kubernetes cluster in memory, with nodes, pods, budgets and leases. A pod that is evicted ends after two looks at it while its node is Ready; its
// controller then makes another one elsewhere, which gives its budget room again. Each answer about a node is of another boot.
// A test sets its budgets; a NodeCluster has nodes that are hosts, and budgets that count pods.
type Kubernetes struct {
	Name string

	mu         sync.Mutex
	nodes      []*kubefacts.Node
	pods       []*simulatedPod
	budgets    []*kubefacts.Budget
	leases     map[string]kubefacts.Lease
	boots      int
	away       *kubefacts.Problem // why the API does not answer; nil: it does
	log        []string
	violations []string
	evicted    map[string]bool
	onEvict    func(pod string)
	onChange   func(number int)
	missing    []kubefacts.Right
	site       *Site // whose hosts are the nodes; nil: each answer is of another boot
}

type simulatedPod struct {
	kubefacts.Pod
	node  string
	looks int
	ended time.Time // when a run evicted it; zero: none has
}

// NewKubernetes returns a cluster whose nodes are Ready.
func NewKubernetes(name string, nodes ...string) *Kubernetes {
	k := &Kubernetes{Name: name, leases: map[string]kubefacts.Lease{}, evicted: map[string]bool{}}
	for _, n := range nodes {
		k.nodes = append(k.nodes, &kubefacts.Node{Name: n, UID: "uid-" + n, Ready: true})
	}
	return k
}

// RunOn makes hosts the nodes: they are Ready while the hosts are up, and report their boots.
func (k *Kubernetes) RunOn(s *Site) { k.withLock(func() { k.site = s }) }

// AddPod adds a pod of a controller to a node.
func (k *Kubernetes) AddPod(node string, p kubefacts.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p.UID, p.Namespace, p.Created = fmt.Sprintf("%s-%d", p.Name, len(k.pods)), "t", time.Now().Truncate(time.Second)
	k.pods = append(k.pods, &simulatedPod{Pod: p, node: node})
}

// AddBudget adds a budget for the pods with the label app.
func (k *Kubernetes) AddBudget(name, app string, allowed int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.budgets = append(k.budgets, &kubefacts.Budget{Namespace: "t", Name: name, Allowed: allowed, Healthy: 3, Desired: 3 - allowed, Expected: 4, Selector: kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: []string{app}}}}})
}

// SetAway takes the API away, or brings it back.
func (k *Kubernetes) SetAway(away bool) {
	problem := &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: "connection refused", Hint: "start it"}
	if !away {
		problem = nil
	}
	k.SetProblem(problem)
}

// SetProblem lets the API not answer, for that reason.
func (k *Kubernetes) SetProblem(p *kubefacts.Problem) { k.withLock(func() { k.away = p }) }

// LoseAPI is SetProblem for functions that are called with the lock of the cluster.
func (k *Kubernetes) LoseAPI(p *kubefacts.Problem) { k.away = p }

// SetMissing takes rights from the user.
func (k *Kubernetes) SetMissing(r ...kubefacts.Right) { k.withLock(func() { k.missing = r }) }

// OnEvict is called after each eviction, without the lock of the cluster.
func (k *Kubernetes) OnEvict(call func(pod string)) { k.withLock(func() { k.onEvict = call }) }

// OnChange is called after each change by a run, with its number.
func (k *Kubernetes) OnChange(call func(number int)) { k.withLock(func() { k.onChange = call }) }

func (k *Kubernetes) note(change string) {
	k.log = append(k.log, change)
	if k.onChange != nil {
		k.onChange(len(k.log))
	}
}

// ChangeNode lets a person change a node.
func (k *Kubernetes) ChangeNode(name string, change func(*kubefacts.Node)) {
	k.withLock(func() { change(k.find(name)) })
}

// Log returns the changes by runs so far.
func (k *Kubernetes) Log() (log []string) {
	k.withLock(func() { log = slices.Clone(k.log) })
	return log
}

// Node returns a node as it is.
func (k *Kubernetes) Node(name string) (n kubefacts.Node) {
	k.withLock(func() { n = *k.find(name) })
	return n
}

// Violations returns the laws that runs have broken, and everything that they have left behind.
func (k *Kubernetes) Violations() (list []string) {
	k.withLock(func() {
		list = slices.Clone(k.violations)
		for _, n := range k.nodes {
			if n.CordonedBy != "" {
				list = append(list, fmt.Sprintf("node %s is left cordoned by %s", n.Name, n.CordonedBy))
			}
			if l := k.leases[n.Name]; l.IsOwn() {
				list = append(list, fmt.Sprintf("the lease of node %s is left to %s", n.Name, l.Holder))
			}
		}
	})
	return list
}

func (k *Kubernetes) withLock(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

func (k *Kubernetes) find(name string) *kubefacts.Node {
	i := slices.IndexFunc(k.nodes, func(n *kubefacts.Node) bool { return n.Name == name })
	return k.nodes[i]
}

// problem returns why the API does not answer. It is called with the lock held.
func (k *Kubernetes) problem(ctx context.Context) *kubefacts.Problem {
	if k.away != nil {
		return k.away
	}
	if ctx.Err() != nil {
		return &kubefacts.Problem{Kind: kubefacts.Unreachable, Cause: "connection refused", Hint: "start it"}
	}
	return nil
}

// Gather is part of rollout.Nodes.
func (k *Kubernetes) Gather(ctx context.Context, _ []string) map[string]kubefacts.ClusterFacts {
	k.mu.Lock()
	defer k.mu.Unlock()
	facts := kubefacts.ClusterFacts{Name: k.Name, Problem: k.problem(ctx)}
	if facts.Problem == nil {
		for _, n := range k.nodes {
			facts.Nodes = append(facts.Nodes, *n)
			if l, ok := k.leases[n.Name]; ok {
				facts.Leases = append(facts.Leases, l)
			}
		}
	}
	return map[string]kubefacts.ClusterFacts{k.Name: facts}
}

// ReadWorkloads is part of rollout.Nodes.
func (k *Kubernetes) ReadWorkloads(ctx context.Context, nodes map[string][]string) map[string]kubefacts.Workload {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := kubefacts.Workload{Problem: k.problem(ctx), ReadAt: time.Now(), Pods: map[string][]kubefacts.Pod{}, Budgets: map[string][]kubefacts.Budget{}}
	for _, b := range k.budgets {
		w.Budgets[b.Namespace] = append(w.Budgets[b.Namespace], *b)
	}
	var rest []*simulatedPod
	for _, p := range k.pods {
		p.Overdue = p.Overdue || !p.ended.IsZero() && time.Since(p.ended) > time.Minute
		if p.Terminating && slices.Contains(nodes[k.Name], p.node) && k.find(p.node).Ready {
			if p.looks++; p.looks > 2 {
				for _, b := range k.budgetsOf(p.Pod) {
					b.Allowed++
				}
				continue
			}
		}
		rest = append(rest, p)
		w.Pods[p.node] = append(w.Pods[p.node], p.Pod)
	}
	k.pods = rest
	return map[string]kubefacts.Workload{k.Name: w}
}

func (k *Kubernetes) budgetsOf(p kubefacts.Pod) []*kubefacts.Budget {
	return slices.DeleteFunc(slices.Clone(k.budgets), func(b *kubefacts.Budget) bool { return !b.Selector.Matches(p.Labels) })
}

// ReadNode is part of rollout.Nodes.
func (k *Kubernetes) ReadNode(ctx context.Context, _, node string) (kubefacts.Node, *kubefacts.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.boots++
	n := *k.find(node)
	n.BootID = fmt.Sprint("boot ", k.boots)
	if k.site != nil {
		h := k.site.Host(node)
		k.site.withLock(func(time.Time) {
			n.BootID = h.bootID().Kernel()
			if !h.up {
				n.Ready, n.NotReady = false, "its kubelet is silent"
			}
		})
	}
	return n, k.problem(ctx)
}

// FindMissingRights is part of rollout.Nodes.
func (k *Kubernetes) FindMissingRights(context.Context, []string) map[string][]kubefacts.Right {
	k.mu.Lock()
	defer k.mu.Unlock()
	return map[string][]kubefacts.Right{k.Name: k.missing}
}

// Cordon is part of rollout.Nodes.
func (k *Kubernetes) Cordon(ctx context.Context, _, node, by string) (kubefacts.Node, *kubefacts.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.find(node)
	if p := k.problem(ctx); p != nil {
		return *n, p
	}
	if !n.Cordoned {
		n.Cordoned, n.CordonedBy = true, by
		k.note("cordon " + node)
	}
	return *n, nil
}

// Uncordon is part of rollout.Nodes.
func (k *Kubernetes) Uncordon(ctx context.Context, _, node string) (kubefacts.Node, *kubefacts.Problem) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := k.find(node)
	if p := k.problem(ctx); p != nil {
		return *n, p
	}
	if n.CordonedBy != "" {
		n.Cordoned, n.CordonedBy = false, ""
		k.note("uncordon " + node)
	}
	return *n, nil
}

// Evict is part of rollout.Nodes. It takes from the budget before it compares the UID, as an API does.
func (k *Kubernetes) Evict(ctx context.Context, _ string, r kubefacts.EvictionRequest) kubefacts.Eviction {
	e := k.evict(ctx, r)
	var call func(pod string)
	k.withLock(func() { call = k.onEvict })
	if call != nil && e.Kind == kubefacts.PodEvicted {
		call(r.Pod.Name)
	}
	return e
}

func (k *Kubernetes) evict(ctx context.Context, r kubefacts.EvictionRequest) kubefacts.Eviction {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.problem(ctx); p != nil {
		return kubefacts.Eviction{Kind: kubefacts.EvictionUnknown, Problem: p}
	}
	i := slices.IndexFunc(k.pods, func(p *simulatedPod) bool { return p.Name == r.Pod.Name })
	if i < 0 {
		return kubefacts.Eviction{Kind: kubefacts.PodGone}
	}
	p := k.pods[i]
	switch {
	case k.evicted[r.Pod.UID]:
		k.violations = append(k.violations, r.Pod.UID+" is evicted twice")
	case p.Mirror || p.DaemonSet:
		k.violations = append(k.violations, r.Pod.UID+" is evicted, although it stays on its node")
	}
	if budgets := k.budgetsOf(p.Pod); len(budgets) > 1 {
		return kubefacts.Eviction{Kind: kubefacts.TwoBudgetsRefused, Text: "more than one PodDisruptionBudget"}
	} else if len(budgets) == 1 {
		b := budgets[0]
		if b.Allowed <= 0 {
			return kubefacts.Eviction{Kind: kubefacts.BudgetRefused, Budget: b.Name, Text: "it needs more healthy pods"}
		}
		b.Allowed--
	}
	if p.UID != r.Pod.UID {
		return kubefacts.Eviction{Kind: kubefacts.PodReplaced}
	}
	p.Terminating, p.ended, k.evicted[p.UID] = true, time.Now(), true
	k.note("evict " + p.Name)
	return kubefacts.Eviction{Kind: kubefacts.PodEvicted}
}

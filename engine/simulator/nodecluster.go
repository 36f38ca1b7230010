package simulator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"holdfast/engine/kubefacts"
	"holdfast/engine/simulator/laws"
)

// Times of a NodeCluster.
const (
	kubeletStarts = 10 * time.Second // from the answer of a host until its kubelet reports
	nodeSilence   = 40 * time.Second // how long a node stays Ready without a report
	podEviction   = 5 * time.Minute  // from then until its pods are deleted
	wrongUIDCosts = 2 * time.Minute  // how long a refused eviction of another UID uses up a budget
)

// NodeCluster is a Kubernetes cluster whose nodes are hosts of a site. Controllers make pods again, on the node with the fewest pods; budgets
// count the pods that are Ready. The lock of the site guards it.
type NodeCluster struct {
	Name     string
	NoLeases bool     // the cluster has no namespace for the leases of nodes
	Servers  []string // hosts with an API server; none: it runs elsewhere

	site         *Site
	nodes        []*clusterNode
	pods         []*clusterPod
	apps         []*App
	leases       map[string]kubefacts.Lease
	maintenances map[string]time.Time // since when, by node
	away         time.Time            // until when the API does not answer
	made         int                  // pods that were made so far
}

// App is a set of pods with one controller, and its budget.
type App struct {
	Name        string
	Replicas    int
	Stateful    bool          // a pod is made again only once it is gone, with the same name
	NoMaker     bool          // no controller makes its pods again
	EmptyDir    bool          // its pods have data that end with them
	Slow        time.Duration // from the start of a pod until it is Ready
	Grace       time.Duration // from the eviction of a pod until it ends
	Budget      bool          // it has a budget
	TwoBudgets  bool          // it has two
	Needs       int           // pods that must be healthy
	AllowsUnfit bool          // pods that are not Ready may always be evicted

	charged []time.Time // until when refused evictions use up the budget
}

type clusterNode struct {
	kubefacts.Node

	host       *Host     // nil: the node is no host of the site
	byPerson   bool      // a person was the last to cordon the node
	uncordoned time.Time // when a person, or a new registration, uncordoned the node last
	sick       bool      // the kubelet reports that it is not Ready
	changedAt  time.Time
}

type clusterPod struct {
	app    *App // nil: the pod stays on its node
	uid    string
	name   string
	node   string // "": no node has room
	mirror bool
	bound  time.Time
	ready  time.Time
	ends   time.Time // zero: nobody has deleted it
}

// AddNodeCluster adds a Kubernetes cluster whose nodes are these hosts and one node that is no host, so that every pod finds a place. A namesake
// is no host, either, and has the name of a host that is a node of another cluster.
func (s *Site) AddNodeCluster(name string, hosts, namesakes []string, apps []App) *NodeCluster {
	k := &NodeCluster{Name: name, site: s, leases: map[string]kubefacts.Lease{}, maintenances: map[string]time.Time{}}
	for _, h := range slices.Concat(hosts, namesakes, []string{"other-" + name}) {
		n := &clusterNode{Node: kubefacts.Node{Name: h, UID: "uid-" + h, KubeletVersion: "v1.37.2"}, host: s.hosts[h]}
		if slices.Contains(namesakes, h) {
			n.UID, n.host = "uid-of-namesake-"+h, nil
		}
		k.nodes = append(k.nodes, n)
		for _, kind := range []string{"agent", "static"} {
			k.pods = append(k.pods, &clusterPod{uid: kind + "-" + h, name: kind + "-" + h, node: h, mirror: kind == "static"})
		}
	}
	for _, a := range apps {
		k.apps = append(k.apps, &a)
		if a.NoMaker {
			for i := range a.Replicas {
				k.makePod(k.apps[len(k.apps)-1], fmt.Sprintf("%s-%d", a.Name, i))
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kubernetes = append(s.kubernetes, k)
	for _, n := range k.nodes {
		seen := &laws.Node{Cluster: name, Name: n.Name}
		if n.host != nil {
			seen.Host = &n.host.law
		}
		s.laws.Nodes = append(s.laws.Nodes, seen)
	}
	k.advanceTo(time.Now())
	for _, p := range k.pods {
		p.ready = time.Time{}
	}
	return k
}

// NodeClusters returns the Kubernetes clusters of the site.
func (s *Site) NodeClusters() []*NodeCluster { return slices.Clone(s.kubernetes) }

func (k *NodeCluster) makePod(a *App, name string) {
	k.made++
	k.pods = append(k.pods, &clusterPod{app: a, uid: fmt.Sprintf("uid-%d", k.made), name: name})
}

func (k *NodeCluster) findNode(name string) *clusterNode {
	if i := slices.IndexFunc(k.nodes, func(n *clusterNode) bool { return n.Name == name }); i >= 0 {
		return k.nodes[i]
	}
	return nil
}

func (k *NodeCluster) findPod(name string) *clusterPod {
	if i := slices.IndexFunc(k.pods, func(p *clusterPod) bool { return p.name == name }); i >= 0 {
		return k.pods[i]
	}
	return nil
}

// advanceTo lets kubelets report, pods end, and controllers make others, until that time.
func (k *NodeCluster) advanceTo(now time.Time) {
	for _, n := range k.nodes {
		n.report(k, now)
	}
	k.pods = slices.DeleteFunc(k.pods, func(p *clusterPod) bool {
		n := k.findNode(p.node)
		return isDue(p.ends, now) && (n == nil || n.Ready) // a kubelet that is silent ends nothing
	})
	for _, a := range k.apps {
		if !a.NoMaker {
			k.controlApp(a)
		}
	}
	for _, p := range k.pods {
		if p.node == "" && p.ends.IsZero() {
			k.schedule(p, now)
		}
	}
}

func (n *clusterNode) report(k *NodeCluster, now time.Time) {
	ready := !n.sick
	if h := n.host; h != nil {
		reports := h.up && !now.Before(h.since.Add(kubeletStarts))
		ready = ready && (reports || !h.up && now.Before(h.lost.Add(nodeSilence)) || h.up && n.Ready && now.Before(h.lost.Add(nodeSilence)))
		if reports {
			n.BootID = h.bootID().Kernel()
		}
	}
	if ready != n.Ready {
		n.Ready, n.changedAt = ready, now
		for _, p := range k.pods {
			if p.node == n.Name && ready && p.app != nil {
				p.ready = now.Add(p.app.Slow)
			}
		}
	}
	if n.NotReady = ""; !n.Ready {
		n.NotReady = "NodeStatusUnknown: Kubelet stopped posting node status."
	}
	if !n.Ready && now.Sub(n.changedAt) >= podEviction {
		for _, p := range k.pods {
			if p.node == n.Name && p.app != nil && p.ends.IsZero() {
				p.ends = now
			}
		}
	}
}

// controlApp makes the pods that are missing. A controller of stateful pods waits for the end of the last pod of a name.
func (k *NodeCluster) controlApp(a *App) {
	var names []string
	for _, p := range k.pods {
		if p.app == a && (a.Stateful || p.ends.IsZero()) {
			names = append(names, p.name)
		}
	}
	for i := 0; i < a.Replicas && len(names) < a.Replicas; i++ {
		name := fmt.Sprintf("%s-%d", a.Name, i)
		if !a.Stateful {
			name = fmt.Sprintf("%s-x%d", a.Name, k.made)
		}
		if !slices.Contains(names, name) {
			k.makePod(a, name)
			names = append(names, name)
		}
	}
}

func (k *NodeCluster) schedule(p *clusterPod, now time.Time) {
	count := func(n *clusterNode) (pods int) {
		for _, o := range k.pods {
			if o.node == n.Name {
				pods++
			}
		}
		return pods
	}
	able := slices.DeleteFunc(slices.Clone(k.nodes), func(n *clusterNode) bool { return n.Cordoned || !n.Ready })
	if len(able) == 0 {
		return
	}
	p.node = slices.MinFunc(able, func(a, b *clusterNode) int { return cmp.Compare(count(a), count(b)) }).Name
	p.bound, p.ready = now, now.Add(p.app.Slow)
}

func (k *NodeCluster) isReady(p *clusterPod, now time.Time) bool {
	n := k.findNode(p.node)
	return n != nil && n.Ready && p.ends.IsZero() && !now.Before(p.ready)
}

func (k *NodeCluster) healthyPods(a *App, now time.Time) (n int) {
	for _, p := range k.pods {
		if p.app == a && k.isReady(p, now) {
			n++
		}
	}
	return n
}

// allowed returns how many pods of an app may be evicted.
func (k *NodeCluster) allowed(a *App, now time.Time) int {
	n := k.healthyPods(a, now) - a.Needs
	for _, until := range a.charged {
		if now.Before(until) {
			n--
		}
	}
	return max(0, n)
}

func (k *NodeCluster) isAway(now time.Time) bool {
	if now.Before(k.away) {
		return true
	}
	serves := func(host string) bool {
		h := k.site.hosts[host]
		return h == nil || h.up && !now.Before(h.since.Add(2*kubeletStarts))
	}
	return len(k.Servers) > 0 && !slices.ContainsFunc(k.Servers, serves)
}

// observeInto tells the laws the state of the nodes. seen has the nodes of all clusters.
func (k *NodeCluster) observeInto(seen []*laws.Node, now time.Time) {
	for _, s := range seen {
		n := k.findNode(s.Name)
		if s.Cluster != k.Name || n == nil {
			continue
		}
		if n.Cordoned && !n.byPerson && n.CordonedBy != "" && n.host != nil {
			s.Host.Drained = true
		}
		l := k.leases[n.Name]
		s.Ready, s.Maintained, s.Uncordoned = n.Ready, k.maintenances[n.Name], n.uncordoned
		s.Cordoned, s.CordonedByPerson, s.CordonedByRun = n.Cordoned, n.Cordoned && n.byPerson, n.Cordoned && !n.byPerson && n.CordonedBy != ""
		s.LeaseHolder, s.LeaseEnds, s.LeaseRenewed = l.Holder, l.RenewedAt.Add(l.Duration), l.RenewedAt
		s.Pods = s.Pods[:0]
		for _, p := range k.pods {
			if p.node != n.Name {
				continue
			}
			pod := laws.Pod{Name: p.name, UID: p.uid, Bound: p.bound, Ready: k.isReady(p, now), Ending: !p.ends.IsZero()}
			if p.app == nil {
				pod.Stays = true
			} else {
				pod.App, pod.NoMaker, pod.EmptyDir, pod.Guarded, pod.Needs = p.app.Name, p.app.NoMaker, p.app.EmptyDir, p.app.Budget || p.app.TwoBudgets, p.app.Needs
			}
			s.Pods = append(s.Pods, pod)
		}
	}
}

package rollout_test

import (
	"fmt"
	"slices"
	"time"

	"holdfast/engine"
	"holdfast/engine/simulator"
)

// kubernetesHistory is a Kubernetes cluster of a history.
type kubernetesHistory struct {
	name     string
	apps     []simulator.App
	servers  []string // hosts with an API server
	noLeases bool
	cordoned []string // nodes that a person has cordoned at the start
}

// nodeIncidents returns the incidents of nodes, by kind. They are drawn apart from the others, so that seeds keep their histories.
func nodeIncidents() map[string]func(*simulator.Site, string) {
	later := func(begin, end func(*simulator.Site, string), while time.Duration) func(*simulator.Site, string) {
		return func(s *simulator.Site, node string) {
			begin(s, node)
			s.After(while, func() { end(s, node) })
		}
	}
	lease := func(ago, duration time.Duration) func(*simulator.Site, string) {
		return func(s *simulator.Site, node string) { s.LeaseNode(node, ago, duration) }
	}
	away := func(while time.Duration) func(*simulator.Site, string) {
		return func(s *simulator.Site, node string) { s.TakeAPIAway(node, while) }
	}
	sick := func(s *simulator.Site, node string) { s.SickenNode(node, true) }
	well := func(s *simulator.Site, node string) { s.SickenNode(node, false) }
	return map[string]func(*simulator.Site, string){
		"node cordoned":   (*simulator.Site).CordonNode,
		"node uncordoned": (*simulator.Site).UncordonNode,
		"node registered": (*simulator.Site).RegisterNode,
		"node maintained": (*simulator.Site).MaintainNode,
		"node leased":     lease(0, time.Hour),
		"node was leased": lease(time.Hour, time.Minute),
		"node to lease":   lease(-time.Hour, time.Minute),
		"node sick":       sick,
		"node blinks":     later(sick, well, 2*time.Minute),
		"pods deleted":    (*simulator.Site).DeletePods,
		"budgets tighten": (*simulator.Site).TightenBudgets,
		"API blinks":      away(40 * time.Second),
		"API away":        away(4 * time.Minute),
		"API lost":        away(time.Hour),
	}
}

func nodeIncidentKinds() []string {
	var all []string
	for k := range nodeIncidents() {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// addKubernetes makes the hosts of some pools nodes of one or two Kubernetes clusters, in a third of the histories. Most of these pools drain
// through the API.
func (d dice) addKubernetes(h *history) {
	if !d.oneIn(3) {
		return
	}
	clusters := anyOf(d, 1, 1, 1, 2)
	for i := range clusters {
		h.kubernetes = append(h.kubernetes, d.newKubernetes(fmt.Sprintf("k%d", i)))
		h.inv.Kubernetes = append(h.inv.Kubernetes, engine.KubernetesCluster{Name: h.kubernetes[i].name})
	}
	var nodes []string
	for i := range h.inv.Pools {
		p := &h.inv.Pools[i]
		if d.oneIn(5) {
			continue
		}
		if !d.oneIn(4) {
			p.Drain = d.newNodeDrain()
		}
		k := &h.kubernetes[d.IntN(clusters)]
		for n := range h.inv.Hosts {
			host := &h.inv.Hosts[n]
			if host.Pool != p.Name {
				continue
			}
			host.Kubernetes = k.name
			nodes = append(nodes, host.Name)
			if d.oneIn(10) {
				k.cordoned = append(k.cordoned, host.Name)
			}
			if host.Cluster != "" && d.oneIn(2) {
				k.servers = append(k.servers, host.Name)
			}
		}
	}
	if len(nodes) == 0 {
		return
	}
	for i := range h.acts {
		for n := range h.acts[i].runs {
			for range d.IntN(3) {
				t := incident{kind: anyOf(d, nodeIncidentKinds()...), host: anyOf(d, nodes...), at: 1 + d.IntN(22), late: d.newMoment()}
				if t.on = t.host; d.oneIn(3) {
					t.on = anyOf(d, nodes...)
				}
				h.acts[i].runs[n].troubles = append(h.acts[i].runs[n].troubles, t)
			}
			if d.oneIn(3) { // in the middle of a drain
				host := anyOf(d, nodes...)
				h.acts[i].runs[n].troubles = append(h.acts[i].runs[n].troubles, incident{kind: anyOf(d, "killed after", "killed after", "answer lost", "call lost"), host: host, on: host, at: 4 + d.IntN(20)})
			}
		}
	}
}

func (d dice) newKubernetes(name string) kubernetesHistory {
	k := kubernetesHistory{name: name, noLeases: d.oneIn(3)}
	for i := range 1 + d.IntN(4) {
		a := simulator.App{Name: fmt.Sprintf("app%d", i), Replicas: 1 + d.IntN(4), Stateful: d.oneIn(3), Budget: !d.oneIn(4), AllowsUnfit: d.oneIn(3)}
		a.Slow, a.Grace = time.Duration(d.IntN(60))*time.Second, time.Duration(1+d.IntN(60))*time.Second
		a.Needs = d.IntN(a.Replicas)
		if d.oneIn(12) {
			a.Needs = a.Replicas
		}
		a.NoMaker, a.EmptyDir, a.TwoBudgets = d.oneIn(12), d.oneIn(10), d.oneIn(20)
		k.apps = append(k.apps, a)
	}
	return k
}

func (d dice) newNodeDrain() *engine.Drain {
	o := engine.KubernetesDrain{Force: d.oneIn(2), DeleteEmptydirData: d.oneIn(2)}
	if d.oneIn(8) {
		o.PodSelector = "app!=app0"
	}
	if d.oneIn(4) {
		o.OnTimeout = engine.ContinueOnTimeout
	}
	if d.oneIn(3) {
		o.Blocked = engine.WarnOfBlocked
	}
	if d.oneIn(3) {
		o.WhenUnreachable = engine.SkipUnreachable
	}
	if d.oneIn(3) {
		seconds := engine.Duration(5 * time.Second)
		o.GracePeriod = &seconds
	}
	return &engine.Drain{Name: "pods", Timeout: engine.Duration(time.Duration(2+d.IntN(6)) * time.Minute), Kubernetes: &o}
}

// patientDrain returns the drain with enough time for budgets with room for one pod.
func patientDrain(d *engine.Drain) *engine.Drain {
	if d == nil || d.Kubernetes == nil {
		return d
	}
	patient := *d
	patient.Timeout = engine.Duration(30 * time.Minute)
	return &patient
}

// leaveKubernetes lets hosts be no nodes.
func leaveKubernetes(inv engine.Inventory, which func(engine.Host) bool) {
	for i := range inv.Hosts {
		if which(inv.Hosts[i]) {
			inv.Hosts[i].Kubernetes = ""
		}
	}
	for i := range inv.Pools {
		p := &inv.Pools[i]
		none := !slices.ContainsFunc(inv.Hosts, func(h engine.Host) bool { return h.Pool == p.Name && h.Kubernetes != "" })
		if none && p.Drain != nil && p.Drain.Kubernetes != nil {
			p.Drain = nil
		}
	}
}

// addNodeClusters adds the Kubernetes clusters of a history to its site. Each has nodes with the names of the hosts of the others.
func (h history) addNodeClusters(site *simulator.Site) {
	for _, k := range h.kubernetes {
		var hosts, namesakes []string
		for _, host := range h.inv.Hosts {
			switch host.Kubernetes {
			case "":
			case k.name:
				hosts = append(hosts, host.Name)
			default:
				namesakes = append(namesakes, host.Name)
			}
		}
		c := site.AddNodeCluster(k.name, hosts, namesakes, k.apps)
		c.Servers, c.NoLeases = k.servers, k.noLeases
		for _, n := range k.cordoned {
			site.CordonNode(n)
		}
	}
}

func repairNodes(site *simulator.Site) {
	for _, k := range site.NodeClusters() {
		k.Repair()
	}
}

// checkNodesFree checks that no run has left anything behind in a Kubernetes cluster.
func checkNodesFree(site *simulator.Site) error {
	for _, k := range site.NodeClusters() {
		if left := k.Leftovers(); len(left) > 0 {
			return fmt.Errorf("%q", left)
		}
	}
	return nil
}

func (h history) kubernetesText() (text string) {
	for _, k := range h.kubernetes {
		text += fmt.Sprintf("kubernetes %s: API on %v, without leases %v, cordoned %v\n", k.name, k.servers, k.noLeases, k.cordoned)
		for _, a := range k.apps {
			text += fmt.Sprintf("  %+v\n", a)
		}
	}
	for _, x := range h.inv.Hosts {
		if x.Kubernetes != "" {
			text += fmt.Sprintf("%s: node of %s\n", x.Name, x.Kubernetes)
		}
	}
	for _, p := range h.inv.Pools {
		if p.Drain != nil && p.Drain.Kubernetes != nil {
			text += fmt.Sprintf("pool %s drains through the API: %s %+v\n", p.Name, p.Drain.Timeout, *p.Drain.Kubernetes)
		}
	}
	return text
}

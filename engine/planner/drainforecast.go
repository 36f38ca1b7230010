package planner

import (
	"fmt"
	"strings"

	"holdfast/engine"
	"holdfast/engine/kubefacts"
	"holdfast/engine/textutil"
)

// NodesToDrain names the nodes that the drains of hosts with work empty, by Kubernetes cluster.
func (s Survey) NodesToDrain() map[string][]string {
	nodes := map[string][]string{}
	for _, hp := range s.result.work {
		if n, drains := s.nodeToDrain(hp); drains {
			nodes[n.Cluster] = append(nodes[n.Cluster], n.Node)
		}
	}
	return nodes
}

// WithWorkloads returns a survey whose plan forecasts drains.
func (s Survey) WithWorkloads(workloads map[string]kubefacts.Workload) Survey {
	s.in.Workloads = workloads
	return s
}

// nodeToDrain returns the node of a host whose sequence has the drain of its pool.
func (s Survey) nodeToDrain(hp engine.HostPlan) (kubefacts.NodeState, bool) {
	n := s.in.Facts[hp.Host].Node
	drains := !hp.RestartsFirst && (hp.HasAction(engine.DrainAction) || hp.HasAction(engine.RebootAction))
	if p, _ := s.in.Inventory.Pool(hp.Pool); n == nil || n.Node == "" || p.Drain == nil || p.Drain.Command == "" || !drains {
		return kubefacts.NodeState{}, false
	}
	return *n, true
}

// forecastDrains returns what each drain moves, and what stops it, for the hosts of a plan.
func (s Survey) forecastDrains(work []engine.HostPlan) []kubefacts.DrainForecast {
	if s.in.Workloads == nil {
		return nil
	}
	var all []kubefacts.DrainForecast
	for _, hp := range work {
		if n, drains := s.nodeToDrain(hp); drains {
			all = append(all, s.in.Workloads[n.Cluster].Forecast(hp.Host, n))
		}
	}
	return all
}

// warnOfDrains returns a warning for each obstacle, once for all hosts with the same obstacle.
func warnOfDrains(drains []kubefacts.DrainForecast) []string {
	var problems, obstacles textutil.Groups[string, string]
	pods, totals := map[string][]string{}, map[string]int{}
	for _, d := range drains {
		if d.Problem != "" {
			problems.Add(fmt.Sprintf("the pods of Kubernetes cluster %s are not known, nor what stops a drain: %s", d.Cluster, d.Problem), d.Host)
		}
		for _, o := range d.Obstacles {
			obstacles.Add(o.Text, d.Host)
			pods[o.Text] = append(pods[o.Text], o.Pods...)
			totals[o.Text] += o.Total
		}
	}
	var warnings []string
	for text, hosts := range problems.All() {
		warnings = append(warnings, nameHosts(hosts)+": "+text)
	}
	for text, hosts := range obstacles.All() {
		const examples = 3
		first := textutil.AndMore(pods[text][:min(examples, len(pods[text]))], totals[text])
		warnings = append(warnings, fmt.Sprintf("%s: a drain may fail: %s (%s)", nameHosts(hosts), text, strings.Join(first, ", ")))
	}
	return warnings
}

func nameHosts(hosts []string) string { return strings.Join(textutil.FoldNames(hosts), ", ") }

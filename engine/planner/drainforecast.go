package planner

import (
	"fmt"
	"slices"
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
			nodes[n.Kubernetes] = append(nodes[n.Kubernetes], n.Node)
		}
	}
	return nodes
}

// WithWorkloads returns a survey whose plan forecasts drains.
func (s Survey) WithWorkloads(workloads map[string]kubefacts.Workload) Survey {
	s.in.Workloads = workloads
	return s
}

// WithRoom returns a survey whose plan keeps hosts out of a batch if their drains would wait for each other. It forecasts no drains.
// A node without a workload has room in every batch.
func (s Survey) WithRoom(workloads map[string]kubefacts.Workload) Survey {
	s.in.Workloads, s.in.OnlyRoom = workloads, true
	return s
}

// NodesDrainedTogether names the nodes that the first batch of a plan drains, by Kubernetes cluster, if they are several.
func (s Survey) NodesDrainedTogether(p engine.Plan) map[string][]string {
	nodes, drained := map[string][]string{}, 0
	for _, b := range p.Batches[:min(1, len(p.Batches))] {
		for _, host := range b.Hosts {
			if hp := p.Host(host); hp != nil {
				if n, drains := s.nodeToDrain(*hp); drains {
					nodes[n.Kubernetes] = append(nodes[n.Kubernetes], n.Node)
					drained++
				}
			}
		}
	}
	if drained < 2 {
		return nil
	}
	return nodes
}

// ClustersToDrain names the Kubernetes clusters whose nodes are drained through their API.
func (s Survey) ClustersToDrain() []string {
	var names []string
	for _, hp := range s.result.work {
		if n, drains := s.nodeToDrain(hp); drains && s.index.pools[hp.Pool].Drain.Kubernetes != nil && !slices.Contains(names, n.Kubernetes) {
			names = append(names, n.Kubernetes)
		}
	}
	return names
}

// nodeToDrain returns the node of a host whose sequence has the drain of its pool.
func (s Survey) nodeToDrain(hp engine.HostPlan) (kubefacts.NodeState, bool) {
	n := s.in.Facts[hp.Host].Node
	drains := !hp.RestartsFirst && (hp.HasAction(engine.DrainAction) || hp.HasAction(engine.RebootAction))
	if d := s.index.pools[hp.Pool].Drain; n == nil || n.Node == "" || d == nil || d.Command == "" && d.Kubernetes == nil || !drains {
		return kubefacts.NodeState{}, false
	}
	return *n, true
}

// forecastDrain returns the pods that the drain of a host moves, and the obstacles to it.
func (s Survey) forecastDrain(hp engine.HostPlan) (f kubefacts.DrainForecast, drains bool) {
	n, drains := s.nodeToDrain(hp)
	if !drains || s.in.Workloads == nil || s.in.OnlyRoom {
		return f, false
	}
	return ForecastDrain(*s.index.pools[hp.Pool].Drain, hp.Host, n, s.in.Workloads[n.Kubernetes]), true
}

// ForecastDrain returns the pods that a drain of the node of a host moves, and the obstacles to it.
func ForecastDrain(d engine.Drain, host string, n kubefacts.NodeState, w kubefacts.Workload) kubefacts.DrainForecast {
	return w.Forecast(host, n, drainOptions(d))
}

// drainOptions returns the options of a drain. Nobody knows those of a command.
func drainOptions(d engine.Drain) kubefacts.DrainOptions {
	if d.Kubernetes == nil {
		return kubefacts.DrainOptions{}
	}
	options, _ := ParseDrainOptions(*d.Kubernetes) // the inventory has checked the selector
	return options
}

// ParseDrainOptions returns the options of a drain through the API. The error is about its selector.
func ParseDrainOptions(k engine.KubernetesDrain) (kubefacts.DrainOptions, error) {
	selector, err := kubefacts.ParseSelector(k.PodSelector)
	return kubefacts.DrainOptions{ByAPI: true, Force: k.Force, DeleteEmptyDirData: k.DeleteEmptydirData, PodSelector: selector}, err
}

// forecastDrains returns what each drain moves, and what stops it, for the hosts of a plan.
func (s Survey) forecastDrains(work []engine.HostPlan) []kubefacts.DrainForecast {
	var all []kubefacts.DrainForecast
	for _, hp := range work {
		if f, drains := s.forecastDrain(hp); drains {
			all = append(all, f)
		}
	}
	return all
}

// excludeBlockedDrains leaves out the hosts whose drain through the API cannot succeed before a person changes something. A host with the hold
// of a dead run stays: it is disrupted already.
func (s Survey) excludeBlockedDrains() surveyResult {
	r := s.result
	if s.in.Workloads == nil || s.in.OnlyRoom {
		return r
	}
	var work []engine.HostPlan
	excluded := slices.Clone(r.excluded)
	for _, hp := range r.work {
		f, drains := s.forecastDrain(hp)
		reason := ""
		if drains && hp.Adopt == "" {
			reason = DescribeBlockedDrain(*s.index.pools[hp.Pool].Drain, f)
		}
		if reason == "" {
			work = append(work, hp)
			continue
		}
		excluded = append(excluded, engine.Exclusion{Host: hp.Host, Kind: engine.BlockedDrain, Reason: reason})
	}
	r.work, r.excluded = work, excluded
	return r
}

// DescribeBlockedDrain returns why a drain through the API cannot succeed before a person changes something. It returns "" if it can, or if
// the drain is tried all the same.
func DescribeBlockedDrain(d engine.Drain, f kubefacts.DrainForecast) string {
	i := slices.IndexFunc(f.Obstacles, func(o kubefacts.Obstacle) bool { return o.Kind.IsPermanent() })
	if i < 0 || d.Kubernetes == nil || d.Kubernetes.Blocked == engine.WarnOfBlocked {
		return ""
	}
	o := f.Obstacles[i]
	reason := "its node cannot be drained: " + o.Text
	if o.Total > 0 {
		reason += " (" + namePods(o.Pods, o.Total) + ")"
	}
	return reason
}

func namePods(pods []string, total int) string {
	const examples = 3
	return strings.Join(textutil.AndMore(pods[:min(examples, len(pods))], total), ", ")
}

// WarnOfDrains returns a warning for each obstacle, once for all hosts with the same obstacle.
func WarnOfDrains(drains []kubefacts.DrainForecast) []string {
	var problems, obstacles textutil.Groups[string, string]
	pods, totals := map[string][]string{}, map[string]int{}
	for _, d := range drains {
		if d.Problem != "" {
			problems.Add(fmt.Sprintf("the pods of Kubernetes cluster %s are not known, nor what stops a drain: %s", d.Kubernetes, d.Problem), d.Host)
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
		warning := fmt.Sprintf("%s: a drain may fail: %s", nameHosts(hosts), text)
		if totals[text] > 0 {
			warning += " (" + namePods(pods[text], totals[text]) + ")"
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

func nameHosts(hosts []string) string { return strings.Join(textutil.FoldNames(hosts), ", ") }

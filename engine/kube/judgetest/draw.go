// Package judgetest draws sets of pods and budgets, and compares the forecast of their drains with the verdicts of Kubernetes: of
// kubectl drain, and of an API server that is asked to evict. Tests ask its code, and the lab asks a running API server.
package judgetest

import (
	"fmt"

	"pgregory.net/rapid"

	"holdfast/engine/kube/kubetest"
)

// Sets is the number of sets that are compared.
const Sets = 500

// Set is one set of objects. All pods are on the node n.
type Set struct {
	Pods       []kubetest.Object `json:"pods"`
	Budgets    []kubetest.Object `json:"budgets"`
	DaemonSets []string          `json:"daemon_sets"` // NAMESPACE/NAME
}

// Draw returns the set of a seed.
func Draw(seed int) Set { return rapid.Custom(drawSet).Example(seed) }

func drawSet(t *rapid.T) Set {
	s := Set{Pods: []kubetest.Object{}, Budgets: []kubetest.Object{}, DaemonSets: []string{"t/agent"}}
	for i := range rapid.IntRange(3, 9).Draw(t, "pods") {
		s.Pods = append(s.Pods, drawPod(t, fmt.Sprint("pod-", i)))
	}
	for i := range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "budgets") {
		s.Budgets = append(s.Budgets, drawBudget(t, fmt.Sprint("budget-", i)))
	}
	return s
}

var namespaces, apps = []string{"t", "t", "t", "t", "u"}, []string{"a", "b"}

func drawPod(t *rapid.T, name string) kubetest.Object {
	owner := func(group, kind, name string) []kubetest.Object {
		return []kubetest.Object{{"apiVersion": group, "kind": kind, "name": name, "uid": "x", "controller": true}}
	}
	mirror := rapid.IntRange(0, 9).Draw(t, "mirror") == 0
	meta := kubetest.Object{"namespace": rapid.SampledFrom(namespaces).Draw(t, "namespace"), "name": name, "uid": "uid-" + name, "resourceVersion": "1"}
	switch rapid.IntRange(0, 9).Draw(t, "owner") {
	case 0:
	case 1:
		meta["ownerReferences"] = owner("apps/v1", "DaemonSet", "agent")
	case 2:
		meta["ownerReferences"] = owner("apps/v1", "DaemonSet", "gone")
	case 3:
		meta["ownerReferences"] = owner("example.com/v1", "DaemonSet", "agent")
	case 4:
		meta["ownerReferences"] = []kubetest.Object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "x"}}
	default:
		meta["ownerReferences"] = owner("apps/v1", "ReplicaSet", "r")
	}
	if mirror {
		meta["annotations"] = kubetest.Object{"kubernetes.io/config.mirror": "x"}
	}
	if rapid.IntRange(0, 7).Draw(t, "labelled") > 0 {
		meta["labels"] = kubetest.Object{"app": rapid.SampledFrom(apps).Draw(t, "app")}
	}
	if rapid.IntRange(0, 9).Draw(t, "ends") == 0 {
		meta["deletionTimestamp"] = "2026-11-27T00:00:00Z"
	}
	spec := kubetest.Object{"nodeName": "n"}
	switch rapid.IntRange(0, 6).Draw(t, "volume") {
	case 0:
		spec["volumes"] = []kubetest.Object{{"name": "v", "hostPath": kubetest.Object{"path": "/x"}}, {"name": "w", "emptyDir": kubetest.Object{}}}
	case 1:
		spec["volumes"] = []kubetest.Object{{"name": "v", "hostPath": kubetest.Object{"path": "/x"}}}
	}
	status := kubetest.Object{"phase": rapid.SampledFrom([]string{"Running", "Running", "Running", "Running", "Running", "Running", "Pending", "Succeeded", "Failed", "Unknown"}).Draw(t, "phase")}
	if ready := rapid.SampledFrom([]string{"True", "True", "False", "Unknown", ""}).Draw(t, "ready"); ready != "" {
		status["conditions"] = []kubetest.Object{{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": ready}}
	}
	return kubetest.Object{"metadata": meta, "spec": spec, "status": status}
}

func drawBudget(t *rapid.T, name string) kubetest.Object {
	spec := kubetest.Object{}
	if selector := drawSelector(t); selector != nil {
		spec["selector"] = selector
	}
	if policy := rapid.SampledFrom([]string{"", "IfHealthyBudget", "AlwaysAllow"}).Draw(t, "policy"); policy != "" {
		spec["unhealthyPodEvictionPolicy"] = policy
	}
	number := func(label string, most int) int { return rapid.IntRange(0, most).Draw(t, label) }
	status := kubetest.Object{
		"observedGeneration": 2, "disruptionsAllowed": number("allowed", 2), "currentHealthy": number("healthy", 4), "desiredHealthy": number("desired", 4), "expectedPods": number("expected", 4),
	}
	if number("stale", 7) == 0 {
		status["observedGeneration"] = 1
	}
	if number("crowded", 24) == 0 {
		pods := kubetest.Object{}
		for i := range 2001 {
			pods[fmt.Sprint(i)] = "2026-11-27T00:00:00Z"
		}
		status["disruptedPods"] = pods
	}
	if number("failed", 7) == 0 {
		status["conditions"] = []kubetest.Object{{"type": "DisruptionAllowed", "status": "False", "reason": "SyncFailed", "message": "found no controllers", "lastTransitionTime": "2026-11-27T00:00:00Z"}}
		status["disruptionsAllowed"] = 0
	}
	// Only a controller reads it. With maxUnavailable, it needs the controllers of the pods.
	if rapid.Bool().Draw(t, "by minimum") {
		spec["minAvailable"] = rapid.SampledFrom([]any{0, 1, 2, 3, "50%"}).Draw(t, "minimum")
	} else {
		spec["maxUnavailable"] = rapid.SampledFrom([]any{0, 1, "50%"}).Draw(t, "maximum")
	}
	return kubetest.Object{"metadata": kubetest.Object{"namespace": rapid.SampledFrom(namespaces).Draw(t, "namespace"), "name": name, "uid": "uid-" + name, "generation": 2}, "spec": spec, "status": status}
}

// drawSelector returns nil for none.
func drawSelector(t *rapid.T) kubetest.Object {
	app := rapid.SampledFrom(apps).Draw(t, "selected")
	expression := func(key, operator string, values ...string) kubetest.Object {
		e := kubetest.Object{"key": key, "operator": operator}
		if len(values) > 0 {
			e["values"] = values
		}
		return kubetest.Object{"matchExpressions": []kubetest.Object{e}}
	}
	switch rapid.IntRange(0, 9).Draw(t, "selector") {
	case 0:
		return nil
	case 1:
		return kubetest.Object{}
	case 2:
		return expression("app", "NotIn", app)
	case 3:
		return expression("app", "In", app, "z")
	case 4:
		return expression("app", "Exists")
	case 5:
		return expression("app", "DoesNotExist")
	}
	return kubetest.Object{"matchLabels": kubetest.Object{"app": app}}
}

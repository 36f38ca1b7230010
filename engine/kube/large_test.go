package kube_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
	"holdfast/engine/longtest"
)

// The size of a large cluster.
const (
	largeNodes, largePods, largeBudgets = 1000, 30_000, 500
	largePage                           = 500 // objects of a page
)

// startLarge starts a server of a large cluster, whose pages are encoded beforehand. Each node and pod has so many bytes that holdfast does
// not read.
func startLarge(t testing.TB, unread int) (s *kubetest.Server, nodes []string) {
	t.Helper()
	s = kubetest.Start(t)
	for i := range largeNodes {
		nodes = append(nodes, fmt.Sprintf("node-%04d", i))
	}
	padding := strings.Repeat("x", unread)
	serveLarge(t, s, kubetest.Nodes, largeNodes, func(i int) kubetest.Object {
		n := kubetest.Node(nodes[i], fmt.Sprintf("10.0.%d.%d", i/250, i%250))
		n["metadata"].(kubetest.Object)["managedFields"] = []kubetest.Object{{"manager": "kubelet", "fieldsV1": kubetest.Object{"f:status": kubetest.Object{"f:" + padding: kubetest.Object{}}}}}
		return n
	})
	serveLarge(t, s, kubetest.Pods, largePods, func(i int) kubetest.Object {
		return kubetest.Object{
			"metadata": kubetest.Object{
				"namespace": fmt.Sprint("ns-", i%largeBudgets), "name": fmt.Sprint("pod-", i), "uid": fmt.Sprint("uid-", i), "labels": kubetest.Object{"app": "web", "pod-template-hash": "1"},
				"ownerReferences": []kubetest.Object{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": true}}, "managedFields": padding,
			},
			"spec":   kubetest.Object{"nodeName": nodes[i%largeNodes], "volumes": []kubetest.Object{{"name": "v", "emptyDir": kubetest.Object{}}}},
			"status": kubetest.Object{"phase": "Running", "conditions": []kubetest.Object{{"type": "Ready", "status": "True"}}},
		}
	})
	serveLarge(t, s, kubetest.Budgets, largeBudgets, func(i int) kubetest.Object {
		b := newBudget("b", "web", 0)
		b["metadata"].(kubetest.Object)["namespace"] = fmt.Sprint("ns-", i)
		return b
	})
	return s, nodes
}

func serveLarge(t testing.TB, s *kubetest.Server, path string, number int, object func(int) kubetest.Object) {
	t.Helper()
	var pages [][]byte
	for first := 0; first < number; first += largePage {
		page := kubetest.Object{"kind": "TestList", "apiVersion": "v1", "metadata": kubetest.Object{}}
		if first+largePage < number {
			page["metadata"] = kubetest.Object{"continue": strconv.Itoa(len(pages) + 1)}
		}
		var items []kubetest.Object
		for i := first; i < min(first+largePage, number); i++ {
			items = append(items, object(i))
		}
		page["items"] = items
		raw, err := json.Marshal(page)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, raw)
	}
	s.Answer(path, func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none for the first
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(pages[page]) // the client has gone
	})
}

// lookAtLarge reads everything that a plan needs, if all hosts have work, and forecasts each drain.
func lookAtLarge(t testing.TB, s *kubetest.Server, nodes []string) (kubefacts.ClusterFacts, kubefacts.Workload) {
	t.Helper()
	clusters := newClient(s, time.Now())
	facts := clusters.Gather(t.Context(), []string{"main"})["main"]
	w := clusters.ReadWorkloads(t.Context(), map[string][]string{"main": nodes})["main"]
	if facts.Problem != nil || w.Problem != nil || len(facts.Nodes) != largeNodes {
		t.Fatalf("%v, %v, %d nodes", facts.Problem, w.Problem, len(facts.Nodes))
	}
	pods := 0
	for _, n := range nodes {
		f := w.Forecast(n, kubefacts.NodeState{Cluster: "main", Node: n}, kubefacts.DrainOptions{})
		if pods += f.Pods; len(f.Obstacles) == 0 {
			t.Fatalf("%s: %+v", n, f)
		}
	}
	if pods != largePods {
		t.Fatalf("%d pods go", pods)
	}
	return facts, w
}

// TestLargeClusterTakesFewRequests: a look at 1,000 nodes with 30,000 pods takes 65 requests.
func TestLargeClusterTakesFewRequests(t *testing.T) {
	longtest.SkipSlow(t)
	s, nodes := startLarge(t, 0)
	lookAtLarge(t, s, nodes)
	if n := len(s.Requests()); n > 65 {
		t.Errorf("%d requests", n)
	}
}

// BenchmarkLargeCluster measures a look at a large cluster, with the fake server in the same process. kept-MB is the memory that the facts keep.
func BenchmarkLargeCluster(b *testing.B) {
	s, nodes := startLarge(b, 3000) // of managed fields, containers and their statuses
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		facts, w := lookAtLarge(b, s, nodes)
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(facts)
		runtime.KeepAlive(w)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/1e6, "kept-MB")
	}
}

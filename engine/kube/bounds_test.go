package kube_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"holdfast/engine"
	"holdfast/engine/kube"
	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
	"holdfast/engine/longtest"
)

// readWorkload reads the pods of node n, and the budgets.
func readWorkload(t *testing.T, s *kubetest.Server) kubefacts.Workload {
	t.Helper()
	clusters := kube.NewClusters(engine.Inventory{Kubernetes: []engine.KubernetesCluster{{Name: "main", Kubeconfig: "/etc/kube.conf", Timeout: engine.Duration(5 * time.Minute)}}}, kube.Bastion{
		Files: kubeconfigOf(s), Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil },
	})
	return clusters.ReadWorkloads(t.Context(), map[string][]string{"main": {"n"}})["main"]
}

// TestPageWithTooManyObjects: a page has no more objects than were asked for.
func TestPageWithTooManyObjects(t *testing.T) {
	for number, refused := range map[int]bool{500: false, 501: true} {
		s := kubetest.Start(t)
		nodes := make([]kubetest.Object, number)
		for i := range nodes {
			nodes[i] = kubetest.Node(fmt.Sprint("n-", i), "")
		}
		s.Answer(kubetest.Nodes, func(w http.ResponseWriter, _ *http.Request) {
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "NodeList", "items": nodes})
		})
		got := gatherCluster(t, engine.KubernetesCluster{}, kubeconfigOf(s), nil)
		if p := got.Problem; refused != (p != nil) || p != nil && (p.Kind != kubefacts.ListEndless || !strings.Contains(p.Cause, "a page has more than 500 objects")) {
			t.Errorf("%d nodes: %v", number, p)
		}
	}
}

// TestLongLabels: labels that no API of Kubernetes accepts are refused.
func TestLongLabels(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, x := range map[string]struct{ key, value, says string }{
		"longest": {strings.Repeat("p", 253) + "/" + strings.Repeat("k", 63), strings.Repeat("v", 63), ""},
		"value":   {"app", long, "a label with a value of 1048576 bytes"},
		"key":     {long, "", "a label with a key of 1048576 bytes"},
		"prefix":  {long + "/app", "", "a label with a key of 1048580 bytes"},
		"suffix":  {"app/" + long, "", "a label with a key of 1048580 bytes"},
	} {
		s := kubetest.Start(t)
		pod := newPod("web", "1")
		pod["metadata"].(kubetest.Object)["labels"] = kubetest.Object{x.key: x.value}
		s.SetList(kubetest.Pods, pod)
		w := readWorkload(t, s)
		switch p := w.Problem; {
		case x.says == "" && (p != nil || w.Pods["n"][0].Labels[x.key] != x.value):
			t.Errorf("%s: %v, %v", name, p, w.Pods)
		case x.says != "" && (p == nil || p.Kind != kubefacts.NotKubernetes || !strings.Contains(p.Cause, x.says)):
			t.Errorf("%s: %v", name, p)
		}
	}
}

// TestLargeSelectors: anybody who may make a budget can give it a selector of a megabyte. It keeps no node of others from being drained, costs
// little memory, and still counts for the pods that it matches.
func TestLargeSelectors(t *testing.T) {
	values := []string{"web"}
	labels := kubetest.Object{"app": "web"}
	var requirements []kubetest.Object
	for i := range 20_000 {
		values = append(values, fmt.Sprint("v-", i))
		requirements = append(requirements, kubetest.Object{"key": fmt.Sprint("k-", i), "operator": "DoesNotExist"})
		if i < 100 {
			labels[fmt.Sprint("l-", i)] = "1"
		}
	}
	long := strings.Repeat("x", 1<<20)
	expression := func(key, operator string, values ...string) kubetest.Object {
		return kubetest.Object{"matchExpressions": []kubetest.Object{{"key": key, "operator": operator, "values": values}}}
	}
	for name, x := range map[string]struct {
		selector kubetest.Object
		matches  bool
	}{
		"values":          {expression("app", "In", values...), true},
		"requirements":    {kubetest.Object{"matchExpressions": requirements}, true},
		"labels":          {kubetest.Object{"matchLabels": labels}, true},
		"long value":      {expression("app", "In", long), false},
		"one long value":  {expression("app", "In", long, "web"), true},
		"not a long one":  {expression("app", "NotIn", long), true},
		"long key":        {expression(long, "Exists"), false},
		"not a long key":  {expression(long, "DoesNotExist"), true},
		"long label":      {kubetest.Object{"matchLabels": kubetest.Object{"app": long}}, false},
		"long label key":  {kubetest.Object{"matchLabels": kubetest.Object{long: "web"}}, false},
		"of other labels": {kubetest.Object{"matchLabels": kubetest.Object{"app": "db"}}, false},
	} {
		s := kubetest.Start(t)
		pod := newPod("web", "1")
		if name == "labels" {
			pod["metadata"].(kubetest.Object)["labels"] = labels
		}
		s.SetList(kubetest.Pods, pod)
		b := newBudget("b", "web", 0)
		b["spec"] = kubetest.Object{"selector": x.selector}
		s.SetList(kubetest.Budgets, b)
		w := readWorkload(t, s)
		if w.Problem != nil || len(w.Pods["n"]) != 1 || len(w.Budgets["t"]) != 1 {
			t.Errorf("%s: %v, %d pods, %d budgets", name, w.Problem, len(w.Pods["n"]), len(w.Budgets["t"]))
			continue
		}
		selector, terms := w.Budgets["t"][0].Selector, 0
		for _, r := range selector.Requirements {
			for _, text := range append([]string{r.Key}, r.Values...) {
				if terms++; len(text) > 317 {
					t.Errorf("%s: a text of %d bytes", name, len(text))
				}
			}
		}
		if got := selector.Matches(w.Pods["n"][0].Labels); got != x.matches || terms > 100 {
			t.Errorf("%s: it matches: %v; %d keys and values", name, got, terms)
		}
	}
}

// TestTooManyBudgets: the selectors of all budgets together have a bound.
func TestTooManyBudgets(t *testing.T) {
	longtest.SkipSlow(t)
	var values []string
	for i := range 98 {
		values = append(values, fmt.Sprint("v-", i))
	}
	budgets := make([]kubetest.Object, 500)
	for i := range budgets {
		b := newBudget(fmt.Sprint("b-", i), "web", 0)
		b["spec"] = kubetest.Object{"selector": kubetest.Object{"matchExpressions": []kubetest.Object{{"key": "app", "operator": "In", "values": values}}}}
		budgets[i] = b
	}
	for last, refused := range map[int]bool{19: false, 20: true} {
		s := kubetest.Start(t)
		s.Answer(kubetest.Budgets, func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none for the first
			meta := kubetest.Object{}
			if page < last {
				meta["continue"] = strconv.Itoa(page + 1)
			}
			kubetest.WriteJSON(w, 200, kubetest.Object{"kind": "List", "metadata": meta, "items": budgets})
		})
		if p := readWorkload(t, s).Problem; refused != (p != nil) || p != nil && (p.Kind != kubefacts.ListEndless || !strings.Contains(p.Cause, "more than 1000000")) {
			t.Errorf("%d pages: %v", last+1, p)
		}
	}
}

// TestLargeBudgets: anybody who may make budgets can make 50 of 1.5 MB. One page of them is too large, so the list is read in smaller pages, which
// grow again after them.
func TestLargeBudgets(t *testing.T) {
	longtest.SkipSlow(t)
	var objects [][]byte
	for i := range 1000 {
		b := newBudget(fmt.Sprint("b-", i), "web", 0)
		if i >= 20 && i < 70 {
			b["metadata"].(kubetest.Object)["annotations"] = kubetest.Object{"a": strings.Repeat("x", 1_500_000)}
		}
		text, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, text)
	}
	s := kubetest.Start(t)
	s.Answer(kubetest.Budgets, func(w http.ResponseWriter, r *http.Request) {
		first, _ := strconv.Atoi(r.URL.Query().Get("continue")) // none for the first page
		limit, err := strconv.Atoi(r.URL.Query().Get("limit"))
		if err != nil {
			kubetest.Refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		next, after := "", first+limit
		if after < len(objects) {
			next = strconv.Itoa(after)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind": "List", "metadata": {"continue": %q}, "items": [`, next)
		for i, o := range objects[first:min(after, len(objects))] {
			if i > 0 {
				_, _ = w.Write([]byte(","))
			}
			if _, err := w.Write(o); err != nil {
				return // the client has gone
			}
		}
		_, _ = w.Write([]byte("]}"))
	})
	w := readWorkload(t, s)
	names := map[string]bool{}
	for _, b := range w.Budgets["t"] {
		names[b.Name] = true
	}
	if w.Problem != nil || len(w.Budgets["t"]) != len(objects) || len(names) != len(objects) {
		t.Errorf("%v, %d budgets, %d names", w.Problem, len(w.Budgets["t"]), len(names))
	}
	if n := len(s.Requests()); n > 25 {
		t.Errorf("%d requests: %q", n, s.Requests())
	}
}

// TestMemoryOfAnswers: answers whose values are much larger in memory than as JSON take a few times their size.
func TestMemoryOfAnswers(t *testing.T) {
	const size = 4 << 20
	fill := func(before, value, after string) []byte {
		return []byte(before + strings.Repeat(value+",", size/(len(value)+1)) + value + after)
	}
	var keys strings.Builder
	for i := 0; keys.Len() < size; i++ {
		fmt.Fprintf(&keys, `"%x":"",`, i)
	}
	for name, x := range map[string]struct {
		path string
		body []byte
	}{
		"objects":      {kubetest.Budgets, fill(`{"kind": "List", "items": [`, `{}`, `]}`)},
		"conditions":   {kubetest.Pods, fill(`{"kind": "List", "items": [{"spec": {"nodeName": "n"}, "status": {"conditions": [`, `{}`, `]}}]}`)},
		"owners":       {kubetest.Pods, fill(`{"kind": "List", "items": [{"spec": {"nodeName": "n"}, "metadata": {"ownerReferences": [`, `{}`, `]}}]}`)},
		"labels":       {kubetest.Pods, []byte(`{"kind": "List", "items": [{"spec": {"nodeName": "n"}, "metadata": {"labels": {` + keys.String() + `"z": ""}}}]}`)},
		"annotations":  {kubetest.Pods, []byte(`{"kind": "List", "items": [{"spec": {"nodeName": "n"}, "metadata": {"annotations": {` + keys.String() + `"z": ""}}}]}`)},
		"match labels": {kubetest.Budgets, []byte(`{"kind": "List", "items": [{"spec": {"selector": {"matchLabels": {` + keys.String() + `"z": ""}}}}]}`)},
		"expressions":  {kubetest.Budgets, fill(`{"kind": "List", "items": [{"spec": {"selector": {"matchExpressions": [`, `{}`, `]}}}]}`)},
		"values":       {kubetest.Budgets, fill(`{"kind": "List", "items": [{"spec": {"selector": {"matchExpressions": [{"values": [`, `""`, `]}]}}}]}`)},
		"words":        {kubetest.Pods, fill(`{"kind": "List", "items": [{"spec": {"nodeName": "n"}, "metadata": {"name": "`, `a `, `"}}]}`)},
	} {
		s := kubetest.Start(t)
		s.Answer(x.path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(x.body) // the client has gone
		})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		readWorkload(t, s)
		runtime.ReadMemStats(&after)
		t.Logf("%s: %d MB", name, (after.TotalAlloc-before.TotalAlloc)>>20)
		if took := after.TotalAlloc - before.TotalAlloc; took > 12*size {
			t.Errorf("%s: %d MB for an answer of %d MB", name, took>>20, len(x.body)>>20)
		}
	}
}

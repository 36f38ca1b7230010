package kubefacts_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdfast/engine/kubefacts"
)

// TestForecast: each obstacle has its kind, with the arithmetic of budgets.
func TestForecast(t *testing.T) {
	app := map[string]string{"app": "web"}
	all := kubefacts.Selector{}
	web := kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: []string{"web"}}}}
	pod := func(change func(*kubefacts.Pod)) kubefacts.Pod {
		p := kubefacts.Pod{Namespace: "t", Name: "web-1", Labels: app, Controlled: true, Ready: true}
		change(&p)
		return p
	}
	plain := pod(func(*kubefacts.Pod) {})
	for name, x := range map[string]struct {
		pod     kubefacts.Pod
		budgets []kubefacts.Budget
		want    string // kinds
		text    string
		stays   bool
	}{
		"allowed":          {plain, []kubefacts.Budget{{Name: "b", Selector: web, Expected: 3, Desired: 2, Healthy: 3, Allowed: 1}}, "", "", false},
		"no budget":        {plain, nil, "", "", false},
		"exhausted":        {plain, []kubefacts.Budget{{Name: "b", Selector: web, Expected: 3, Desired: 2, Healthy: 2}}, "budget-exhausted", "PodDisruptionBudget t/b needs 2 healthy pods of 3, and has 2, so it allows no eviction now", false},
		"never":            {plain, []kubefacts.Budget{{Name: "b", Selector: all, Expected: 2, Desired: 5, Healthy: 2}}, "budget-impossible", "PodDisruptionBudget t/b needs 5 healthy pods of 2, so it never allows an eviction; change its minAvailable or maxUnavailable, or add pods", false},
		"managed":          {plain, []kubefacts.Budget{{Name: "b", Selector: web, Expected: 1, Desired: 1, Healthy: 1, ManagedBy: "Cluster/pg"}}, "budget-exhausted", "PodDisruptionBudget t/b needs 1 healthy pods of 1, so it allows no eviction now; Cluster/pg, which manages it, may move its pods once the node is cordoned", false},
		"managed, failed":  {plain, []kubefacts.Budget{{Name: "b", Selector: web, Expected: 1, Desired: 1, Healthy: 1, SyncFailure: "x", ManagedBy: "Cluster/pg"}}, "budget-failed", "", false},
		"managed, of many": {plain, []kubefacts.Budget{{Name: "b", Selector: web, Expected: 3, Desired: 2, Healthy: 2, ManagedBy: "Cluster/pg"}}, "budget-exhausted", "needs 2 healthy pods of 3, and has 2, so it allows no eviction now", false},
		"stale":            {plain, []kubefacts.Budget{{Name: "b", Selector: web, Stale: true, Allowed: 1}}, "budget-stale", "is not up to date", false},
		"failed":           {plain, []kubefacts.Budget{{Name: "b", Selector: web, SyncFailure: "found no controllers", Stale: true}}, "budget-failed", "the controller manager cannot compute PodDisruptionBudget t/b, so it allows no eviction: found no controllers", false},
		"failed before":    {plain, []kubefacts.Budget{{Name: "b", Selector: web, SyncFailure: "found no controllers", Desired: 2}}, "budget-failed", "", false},
		"not ready then":   {pod(func(p *kubefacts.Pod) { p.Ready = false }), []kubefacts.Budget{{Name: "b", Selector: web, SyncFailure: "x", Stale: true, AllowsUnready: true}}, "", "", false},
		"pending":          {pod(func(p *kubefacts.Pod) { p.Ready, p.Pending = false, true }), []kubefacts.Budget{{Name: "b", Selector: web, Stale: true}, {Name: "c", Selector: all}}, "", "", false},
		"not ready":        {pod(func(p *kubefacts.Pod) { p.Ready = false }), []kubefacts.Budget{{Name: "b", Selector: web, Expected: 1, Desired: 1}}, "budget-impossible", "needs 1 healthy pods of 1", false},
		"AlwaysAllow":      {pod(func(p *kubefacts.Pod) { p.Ready = false }), []kubefacts.Budget{{Name: "b", Selector: web, Expected: 1, Desired: 1, AllowsUnready: true}}, "", "", false},
		"others healthy":   {pod(func(p *kubefacts.Pod) { p.Ready = false }), []kubefacts.Budget{{Name: "b", Selector: web, Expected: 3, Desired: 2, Healthy: 2}}, "", "", false},
		"none needed":      {pod(func(p *kubefacts.Pod) { p.Ready = false }), []kubefacts.Budget{{Name: "b", Selector: web, Expected: 3}}, "budget-exhausted", "needs 0 healthy pods of 3, and has 0", false},
		"no pods yet":      {plain, []kubefacts.Budget{{Name: "b", Selector: web, CountsByControl: true}}, "budget-exhausted", "PodDisruptionBudget t/b counts no pods yet", false},
		"alone, by share":  {pod(func(p *kubefacts.Pod) { p.Controlled = false }), []kubefacts.Budget{{Name: "b", Selector: web, Healthy: 1, CountsByControl: true}}, "budget-impossible no-controller", "PodDisruptionBudget t/b counts only pods of controllers, and has none, so it never allows an eviction; set its minAvailable to a number of pods", false},
		"alone, just made": {pod(func(p *kubefacts.Pod) { p.Controlled = false }), []kubefacts.Budget{{Name: "b", Selector: web, Healthy: 1}}, "budget-exhausted no-controller", "", false},
		"two":              {plain, []kubefacts.Budget{{Name: "b", Selector: web, Allowed: 1}, {Name: "c", Selector: all, Allowed: 1}}, "two-budgets", "t/b and t/c both match", false},
		"of others":        {plain, []kubefacts.Budget{{Name: "b", Selector: kubefacts.Selector{Requirements: []kubefacts.Requirement{{Key: "app", Operator: kubefacts.NotIn, Values: []string{"web"}}}}}, {Name: "c", Selector: kubefacts.Selector{None: true}}}, "", "", false},
		"no controller":    {pod(func(p *kubefacts.Pod) { p.Controlled = false }), nil, "no-controller", "no controller makes the pod again, so kubectl drain needs --force", false},
		"emptyDir":         {pod(func(p *kubefacts.Pod) { p.EmptyDir = true }), nil, "empty-dir", "--delete-emptydir-data", false},
		"mirror":           {pod(func(p *kubefacts.Pod) { p.Mirror, p.Controlled = true, false }), []kubefacts.Budget{{Name: "b", Selector: all}}, "", "", true},
		"of a DaemonSet":   {pod(func(p *kubefacts.Pod) { p.DaemonSet = true }), []kubefacts.Budget{{Name: "b", Selector: all}}, "", "", true},
		"ends":             {pod(func(p *kubefacts.Pod) { p.Terminating = true }), []kubefacts.Budget{{Name: "b", Selector: all}}, "", "", true},
		"has ended":        {pod(func(p *kubefacts.Pod) { p.Finished, p.Controlled = true, false }), []kubefacts.Budget{{Name: "b", Selector: all}}, "", "", false},
	} {
		for i := range x.budgets {
			x.budgets[i].Namespace = "t"
		}
		w := kubefacts.Workload{Pods: map[string][]kubefacts.Pod{"n": {x.pod}, "m": {plain, plain}}, Budgets: map[string][]kubefacts.Budget{"t": x.budgets, "u": {{Name: "b", Selector: all}}}}
		f := w.Forecast("h", kubefacts.NodeState{Kubernetes: "main", Node: "n"}, kubefacts.DrainOptions{})
		var kinds, texts []string
		for _, o := range f.Obstacles {
			kinds, texts = append(kinds, string(o.Kind)), append(texts, o.Text)
		}
		if got := strings.Join(kinds, " "); got != x.want || !strings.Contains(strings.Join(texts, "\n"), x.text) || (f.Pods == 0) != x.stays {
			t.Errorf("%s: %+v, want %q", name, f, x.want)
		}
	}
	gone := kubefacts.Workload{Problem: &kubefacts.Problem{Cause: "refused", Hint: "start it"}}
	if f := gone.Forecast("h", kubefacts.NodeState{Node: "n"}, kubefacts.DrainOptions{}); f.Problem != "refused; start it" {
		t.Errorf("%+v", f)
	}
}

// TestForecastAgainstEvictions evicts the pods of a node one by one, with the rules of the API, from a model that shares no code
// with the forecast: a pod that the API refuses to evict at first has an obstacle, and a pod without an obstacle can be evicted.
func TestForecastAgainstEvictions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := kubefacts.Workload{Pods: map[string][]kubefacts.Pod{}, Budgets: map[string][]kubefacts.Budget{}}
		apps := []string{"a", "b", "c"}
		for i := range rapid.IntRange(0, 3).Draw(t, "budgets") {
			b := kubefacts.Budget{Namespace: "t", Name: fmt.Sprint(i), Expected: rapid.IntRange(1, 4).Draw(t, "expected"), Desired: rapid.IntRange(0, 5).Draw(t, "desired")}
			b.Healthy = rapid.IntRange(0, b.Expected).Draw(t, "healthy")
			b.Allowed = max(0, b.Healthy-b.Desired)
			b.AllowsUnready = rapid.IntRange(0, 3).Draw(t, "allows unready") == 0
			b.Stale = rapid.IntRange(0, 9).Draw(t, "stale") == 0
			b.Selector.Requirements = []kubefacts.Requirement{{Key: "app", Operator: kubefacts.In, Values: rapid.SliceOfN(rapid.SampledFrom(apps), 0, 2).Draw(t, "values")}}
			w.Budgets["t"] = append(w.Budgets["t"], b)
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "pods") {
			w.Pods["n"] = append(w.Pods["n"], kubefacts.Pod{Namespace: "t", Name: fmt.Sprint(i), Labels: map[string]string{"app": rapid.SampledFrom(apps).Draw(t, "app")}, Controlled: true, Ready: rapid.Bool().Draw(t, "ready"), Pending: rapid.IntRange(0, 9).Draw(t, "pending") == 0})
		}
		f := w.Forecast("h", kubefacts.NodeState{Node: "n"}, kubefacts.DrainOptions{})
		for _, p := range w.Pods["n"] {
			matching, refused, never := 0, false, false
			for _, b := range w.Budgets["t"] {
				for _, v := range b.Selector.Requirements[0].Values {
					if v == p.Labels["app"] {
						matching++
						guarded := p.Ready || !b.AllowsUnready && (b.Desired == 0 || b.Healthy < b.Desired)
						refused = refused || guarded && (b.Stale || b.Allowed == 0)
						never = never || guarded && !b.Stale && b.Allowed == 0 && b.Expected-b.Desired < 1
						break
					}
				}
			}
			refused, never = (refused || matching > 1) && !p.Pending, (never || matching > 1) && !p.Pending
			stopped, forever := false, false
			for _, o := range f.Obstacles {
				for _, name := range o.Pods {
					if name == p.String() {
						stopped, forever = true, forever || o.Kind.IsPermanent()
					}
				}
			}
			if stopped != refused || forever != never {
				t.Fatalf("%s: stopped %v, forever %v; the API refuses %v, never allows %v: %+v", p, stopped, forever, refused, never, f)
			}
		}
	})
}

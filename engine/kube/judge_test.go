package kube_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdfast/engine/kube/kubetest"
	"holdfast/engine/kubefacts"
)

// judgeSets is the number of sets of objects that are drawn.
const judgeSets = 500

// judgedSet is one set of objects. All pods are on the node n.
type judgedSet struct {
	Pods       []kubetest.Object `json:"pods"`
	Budgets    []kubetest.Object `json:"budgets"`
	DaemonSets []string          `json:"daemon_sets"`
}

// judgment is the verdict of Kubernetes on one pod, see the command judge.
type judgment struct {
	Pod     string
	Goes    bool
	Refusal string
	Answer  struct {
		Kind    string          `json:"kind"`
		Code    int             `json:"code"`
		Status  string          `json:"status"`
		Reason  string          `json:"reason,omitempty"`
		Message string          `json:"message,omitempty"`
		Details json.RawMessage `json:"details,omitempty"`
	}
	Text string
}

// judged names a case in which Kubernetes and the forecast may differ, for the counts.
type judgedCase string

const (
	stays       judgedCase = "stays"
	terminating judgedCase = "is being deleted" // kubectl counts it, and waits for its end
	orphan      judgedCase = "its DaemonSet is gone"
	crowded     judgedCase = "its budget has too many evictions under way" // the forecast does not know them
	evicted     judgedCase = "is evicted"
	refused     judgedCase = "is refused"
)

// TestForecastAgainstKubernetes draws sets of pods and budgets, and compares the forecast with the verdicts of Kubernetes: of the
// filters of kubectl drain, and of the code with which an API server answers evictions. It builds these from source, which takes minutes.
func TestForecastAgainstKubernetes(t *testing.T) {
	judge := os.Getenv("HOLDFAST_JUDGE")
	if judge == "" {
		if os.Getenv("HOLDFAST_KUBERNETES") == "" {
			t.Skip("HOLDFAST_KUBERNETES=1 builds parts of Kubernetes from source, for some minutes, and compares with them")
		}
		judge = buildJudge(t)
	}
	var sets []judgedSet
	for seed := range judgeSets {
		sets = append(sets, rapid.Custom(drawJudgedSet).Example(seed))
	}
	s := kubetest.Start(t)
	counts, kinds := map[judgedCase]int{}, map[kubefacts.ObstacleKind]int{}
	for i, verdicts := range askJudge(t, judge, sets) {
		set := sets[i]
		s.SetList(kubetest.Pods, set.Pods...)
		s.SetList(kubetest.Budgets, set.Budgets...)
		w := newClient(s, time.Now()).ReadWorkloads(t.Context(), map[string][]string{"main": {"n"}})["main"]
		if w.Problem != nil || len(w.Pods["n"]) != len(set.Pods) {
			t.Fatalf("set %d: %v, %d pods", i, w.Problem, len(w.Pods["n"]))
		}
		for j, p := range w.Pods["n"] {
			w.Pods["n"] = []kubefacts.Pod{p}
			f := w.Forecast("h", kubefacts.NodeState{Node: "n"}, kubefacts.DrainOptions{})
			for _, o := range f.Obstacles {
				kinds[o.Kind]++
			}
			c, wrong := compareJudgment(verdicts[j], p, f)
			if wrong == "" {
				wrong = compareEviction(t, s, verdicts[j], p)
			}
			if counts[c]++; wrong != "" {
				raw, _ := json.MarshalIndent(kubetest.Object{"pod": set.Pods[j], "budgets": set.Budgets, "daemon_sets": set.DaemonSets}, "", " ")
				t.Errorf("set %d, pod %s: %s\nKubernetes: %+v\nforecast: %+v\n%s", i, p, wrong, verdicts[j], f, raw)
			}
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d sets: %v, %v", len(sets), counts, kinds)
	for _, kind := range append([]kubefacts.ObstacleKind{kubefacts.EmptyDirData, kubefacts.NoController}, budgetObstacles...) {
		if kinds[kind] < 20 {
			t.Errorf("only %d obstacles of the kind %s were found", kinds[kind], kind)
		}
	}
	for _, c := range []judgedCase{stays, terminating, orphan, crowded, evicted, refused} {
		if counts[c] < 10 {
			t.Errorf("only %d pods of the case %q were drawn", counts[c], c)
		}
	}
}

// compareJudgment returns the case of a pod, and how the forecast differs from the verdict.
func compareJudgment(v judgment, p kubefacts.Pod, f kubefacts.DrainForecast) (c judgedCase, wrong string) {
	found := map[kubefacts.ObstacleKind]bool{}
	for _, o := range f.Obstacles {
		found[o.Kind] = true
	}
	switch {
	case p.Terminating:
		if f.Pods > 0 || v.Answer.Code != 201 && !p.Mirror {
			wrong = "it does not end by itself"
		}
		return terminating, wrong
	case p.DaemonSet && strings.Contains(v.Refusal, "not found"):
		if f.Pods > 0 {
			wrong = "it goes"
		}
		return orphan, wrong
	case f.Pods == 0:
		if v.Goes || v.Refusal != "" {
			wrong = "it goes"
		}
		return stays, wrong
	}
	if refusal := expectedRefusal(found); !strings.Contains(v.Refusal, refusal) || (v.Refusal == "") != (refusal == "") || v.Goes != (refusal == "") {
		return refused, "kubectl drain has another verdict"
	}
	if v.Answer.Code == 403 && strings.Contains(v.Text, "too many pending evictions") {
		return crowded, ""
	}
	if text := expectedAnswer(v, found); text != "" {
		return refused, text
	}
	if v.Answer.Code == 201 {
		return evicted, ""
	}
	return refused, ""
}

// compareEviction returns how the client reads the answer to an eviction, if it differs from its meaning.
func compareEviction(t *testing.T, s *kubetest.Server, v judgment, p kubefacts.Pod) string {
	t.Helper()
	s.Answer(fmt.Sprintf("/api/v1/namespaces/%s/pods/%s/eviction", p.Namespace, p.Name), func(w http.ResponseWriter, _ *http.Request) {
		kubetest.WriteJSON(w, v.Answer.Code, v.Answer)
	})
	e := newClient(s, time.Now()).Evict(t.Context(), "main", kubefacts.EvictionRequest{Pod: p})
	want, budget := kubefacts.PodEvicted, ""
	switch {
	case v.Answer.Code == 500:
		want = kubefacts.TwoBudgetsRefused
	case v.Answer.Code != 201:
		want, budget = kubefacts.BudgetRefused, strings.Fields(v.Text)[3] // "The disruption budget NAME …"
	}
	if e.Kind != want || e.Budget != budget {
		return fmt.Sprintf("the client reads the answer as %+v, not as %s by %q", e, want, budget)
	}
	return ""
}

// expectedRefusal returns a part of the refusal of kubectl drain, which names only the first reason.
func expectedRefusal(found map[kubefacts.ObstacleKind]bool) string {
	switch {
	case found[kubefacts.EmptyDirData]:
		return "--delete-emptydir-data"
	case found[kubefacts.NoController]:
		return "--force"
	}
	return ""
}

// budgetObstacles are the obstacles for which the API refuses an eviction.
var budgetObstacles = []kubefacts.ObstacleKind{kubefacts.TwoBudgets, kubefacts.BudgetStale, kubefacts.BudgetFailed, kubefacts.BudgetExhausted, kubefacts.BudgetImpossible}

// expectedAnswer returns how the answer to an eviction differs from the obstacles.
func expectedAnswer(v judgment, found map[kubefacts.ObstacleKind]bool) string {
	var kinds []kubefacts.ObstacleKind
	switch {
	case v.Answer.Code == 201:
	case v.Answer.Code == 500 && strings.Contains(v.Text, "more than one PodDisruptionBudget"):
		kinds = []kubefacts.ObstacleKind{kubefacts.TwoBudgets}
	case v.Answer.Code == 429 && strings.Contains(v.Text, "still being processed"):
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetStale, kubefacts.BudgetFailed}
	case v.Answer.Code == 429 && strings.Contains(v.Text, "failed sync"):
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetFailed}
	case v.Answer.Code == 429:
		kinds = []kubefacts.ObstacleKind{kubefacts.BudgetExhausted, kubefacts.BudgetImpossible}
	default:
		return "the API has an answer that is not known"
	}
	told := 0
	for _, kind := range budgetObstacles {
		if !found[kind] {
			continue
		}
		if told++; !slices.Contains(kinds, kind) {
			return fmt.Sprintf("the API does not answer because of %s", kind)
		}
	}
	if (told > 0) != (len(kinds) > 0) {
		return "the API refuses, and the forecast does not know"
	}
	return ""
}

// buildJudge builds the judge: the module in testdata, and the file with which an API server answers evictions, from the module of
// Kubernetes. The package of this file needs most of an API server; the file does not.
func buildJudge(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/judge")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "needs.go"} {
		if err := os.Rename(filepath.Join(dir, name+".txt"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runGo := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env, cmd.Stderr = dir, append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("build the judge: %v", err)
		}
		return strings.TrimSpace(string(out))
	}
	module := runGo("mod", "download", "-json", "k8s.io/kubernetes")
	var info struct{ Dir string }
	if err := json.Unmarshal([]byte(module), &info); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(info.Dir, "pkg/registry/core/pod/storage/eviction.go"))
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte("\npackage storage\n"), []byte("\npackage main\n"), 1)
	if err := os.WriteFile(filepath.Join(dir, "eviction.go"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	runGo("build", "-o", "judge.bin", ".")
	return filepath.Join(dir, "judge.bin")
}

// askJudge returns the verdicts on the pods of each set.
func askJudge(t *testing.T, judge string, sets []judgedSet) [][]judgment {
	t.Helper()
	var in bytes.Buffer
	for _, s := range sets {
		if err := json.NewEncoder(&in).Encode(s); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), judge)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all [][]judgment
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var one []judgment
		if err := d.Decode(&one); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) != len(sets) {
		t.Fatalf("%d sets were judged, not %d", len(all), len(sets))
	}
	return all
}

func drawJudgedSet(t *rapid.T) judgedSet {
	s := judgedSet{Pods: []kubetest.Object{}, Budgets: []kubetest.Object{}, DaemonSets: []string{"t/agent"}}
	for i := range rapid.IntRange(3, 9).Draw(t, "pods") {
		s.Pods = append(s.Pods, drawJudgedPod(t, fmt.Sprint("pod-", i)))
	}
	for i := range rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "budgets") {
		s.Budgets = append(s.Budgets, drawJudgedBudget(t, fmt.Sprint("budget-", i)))
	}
	return s
}

var judgedNamespaces, judgedApps = []string{"t", "t", "t", "t", "u"}, []string{"a", "b"}

func drawJudgedPod(t *rapid.T, name string) kubetest.Object {
	owner := func(group, kind, name string) []kubetest.Object {
		return []kubetest.Object{{"apiVersion": group, "kind": kind, "name": name, "uid": "x", "controller": true}}
	}
	mirror := rapid.IntRange(0, 9).Draw(t, "mirror") == 0
	meta := kubetest.Object{"namespace": rapid.SampledFrom(judgedNamespaces).Draw(t, "namespace"), "name": name, "uid": "uid-" + name, "resourceVersion": "1"}
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
		meta["labels"] = kubetest.Object{"app": rapid.SampledFrom(judgedApps).Draw(t, "app")}
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

func drawJudgedBudget(t *rapid.T, name string) kubetest.Object {
	spec := kubetest.Object{"minAvailable": 1}
	if selector := drawJudgedSelector(t); selector != nil {
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
	return kubetest.Object{"metadata": kubetest.Object{"namespace": rapid.SampledFrom(judgedNamespaces).Draw(t, "namespace"), "name": name, "uid": "uid-" + name, "generation": 2}, "spec": spec, "status": status}
}

// drawJudgedSelector returns nil for none.
func drawJudgedSelector(t *rapid.T) kubetest.Object {
	app := rapid.SampledFrom(judgedApps).Draw(t, "selected")
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
